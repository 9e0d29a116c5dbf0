// Kills StageVolume, and in the scenarios of Clouds() also UnstageVolume, at each call to Windows,
// and repeats the call. The node must reach the same state as without the kill.
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/groups/node_services.h"
#include "server/groups/storage/crash_testing.h"

namespace csi_proxy::storage {
namespace {

constexpr char kOther[] = R"(C:\var\lib\kubelet\other)";

constexpr char kScenario[] = R"(
  behaviour { volume_cache_ms: 0 }
  disk { number: 0 size_bytes: 68719476736 style: GPT
         partition { type: EFI_SYSTEM size_bytes: 104857600 }
         partition { size_bytes: 60000000000 volume {
           id: "\\\\?\\Volume{00000000-c511-4c0d-9000-000000000001}\\"
           file_system: "NTFS" drive_letter: "C" file { path: "var\\lib\\kubelet\\plugins" } } } }
  disk { number: 1 size_bytes: 1073741824 serial_number: "vol0123" }
  disk { number: 2 size_bytes: 1073741824 serial_number: "vol0456" }
)";

const DiskSelector kWanted = {.serial_number = "vol0123"};

void Change(Machine& node, const std::function<void(machine::simulator::Disk&)>& change) {
  node.core()->Change([&](NodeState& state) { change(state.disks[1]); });
}

// Stages disk 1 at kOther and unstages it.
void Use(Machine& node) {
  EXPECT_TRUE(Process(&node).Stage(kWanted, kOther).ok());
  EXPECT_TRUE(Process(&node).Unstage(kOther).ok());
}

std::vector<Start> StagingStarts() {
  const auto detach = [](Machine& node) { EXPECT_TRUE(node.DetachDisk(2).ok()); };
  return {
      {"RawOfflineReadOnly",
       [](Machine& node) {
         Change(node, [](auto& disk) {
           disk.online = false;
           disk.read_only = true;
         });
       }},
      {"NotSeenBeforeARescan",
       [](Machine& node) { Change(node, [](auto& disk) { disk.awaits_rescan = true; }); }},
      {"Initialized",
       [](Machine& node) {
         Process process(&node);
         host::DiskHost& disk = process.host->disk();
         EXPECT_TRUE(disk.InitializeGpt(CallContext(), *disk.GetLayout(CallContext(), 1)).ok());
       }},
      {"Partitioned",
       [](Machine& node) {
         Process process(&node);
         EXPECT_TRUE(
             disk::NewDiskService(process.deps)->PartitionDisk({}, {.disk_number = 1}).ok());
       }},
      {"Formatted", Use},
      {"FormattedReadOnly",
       [](Machine& node) {
         Use(node);
         Change(node, [](auto& disk) { disk.read_only = true; });
       }},
      {"MadeReadOnlyByGoingOnline",
       [](Machine& node) {
         Use(node);
         node.core()->Change(
             [](NodeState& state) { state.behaviour.online_makes_read_only = true; });
       }},
      {"MountedElsewhere",
       [](Machine& node) { EXPECT_TRUE(Process(&node).Stage(kWanted, kOther).ok()); }},
      {"TheMountOfAPulledDiskIsThere",
       [detach](Machine& node) {
         EXPECT_TRUE(Process(&node).Stage({.serial_number = "vol0456"}).ok());
         detach(node);
       }},
      {"MountedThereOffline",
       [](Machine& node) {
         Process process(&node);
         EXPECT_TRUE(process.Stage(kWanted).ok());
         EXPECT_TRUE(process.host->disk().SetOnline(CallContext(), 1, false).ok());
       }},
      {"Grown",
       [](Machine& node) {
         Use(node);
         EXPECT_TRUE(node.GrowDisk(1, uint64_t{3} << 30).ok());
       }},
      {"StagedAndGrown",
       [](Machine& node) {
         EXPECT_TRUE(Process(&node).Stage(kWanted).ok());
         EXPECT_TRUE(node.GrowDisk(1, uint64_t{3} << 30).ok());
       }},
  };
}

absl::Status Stage(Process& process) { return process.Stage(kWanted).status(); }
absl::Status Unstage(Process& process) { return process.Unstage().status(); }

NodeState StateAt(const Start& start) {
  auto node = machine::simulator::LoadScenario(kScenario, "test");
  EXPECT_TRUE(node.ok()) << node.status();
  start.prepare(**node);
  return (*node)->Snapshot();
}

std::string Name(const testing::TestParamInfo<Start>& info) { return info.param.name; }

class StageCrashTest : public testing::TestWithParam<Start> {};
TEST_P(StageCrashTest, ACallKilledAtAnyStepAndRepeatedReachesTheSameState) {
  KillEverywhere(StateAt(GetParam()), Stage, Unstage);
}
INSTANTIATE_TEST_SUITE_P(From, StageCrashTest, testing::ValuesIn(StagingStarts()), Name);

// Two disks exchange their numbers before one call, up to the call after the flush, as when a
// session is lost and comes back. Later exchanges are not tested: then only the device paths
// distinguish the disks, and the simulated machine derives these paths from the numbers.
TEST(ExchangedNumbersTest, UnstageVolumeTakesNoOtherDiskOffline) {
  const NodeState state =
      StateAt({"Both", [](Machine& node) {
                 EXPECT_TRUE(Process(&node).Stage(kWanted).ok());
                 EXPECT_TRUE(Process(&node).Stage({.serial_number = "vol0456"}, kOther).ok());
               }});
  int flush = 0;
  for (bool is_flush = false; !is_flush;) {
    const auto node = NodeIn(state);
    Process process(node.get(), Death::kNone, ++flush);
    const auto answer = process.Unstage();
    ASSERT_LE(flush, process.life.calls()) << "no call is the flush";
    is_flush = answer.ok() && std::ranges::count(answer->steps, StorageStep::kNotFlushed) > 0;
  }
  for (int at = 1; at <= flush + 1; ++at) {
    const auto node = NodeIn(state);
    Process process(node.get());
    process.life.before_call = [&](int call) {
      if (call != at) return;
      node->core()->Change([](NodeState& now) {
        std::swap(now.disks[1].number, now.disks[2].number);
        std::swap(now.disks[1], now.disks[2]);
      });
    };
    (void)process.Unstage();
    for (const machine::simulator::Disk& disk : node->Snapshot().disks) {
      EXPECT_TRUE(disk.online || disk.serial_number != "vol0456") << "before call " << at;
    }
  }
}

// Runs once per cloud, with the data disk attached as that cloud attaches it. Volumes arrive
// without delay, so that repeated calls do not wait.
class CloudCrashTest : public testing::TestWithParam<std::string> {};
TEST_P(CloudCrashTest, ACallKilledAtAnyStepAndRepeatedReachesTheSameState) {
  const auto node = CloudNode(GetParam());
  const uint32_t number = AttachDataDisk(*node);
  RevealDataDisk(*node);
  node->core()->Change([](NodeState& state) {
    state.volume_arrival_delay = absl::ZeroDuration();
    state.behaviour.volume_cache_delay = absl::ZeroDuration();
  });
  Process process(node.get());
  const DiskSelector name = NamesOf(process, number, true).back();
  const Act stage = [&](Process& staging) { return staging.Stage(name).status(); };
  const std::string before = AllElse(*node, number);
  KillEverywhere(node->Snapshot(), stage, Unstage);
  ASSERT_TRUE(process.Stage(name).ok());
  KillEverywhere(node->Snapshot(), Unstage, stage);
  // KillEverywhere() has checked that a killed and repeated call ends in this state too.
  EXPECT_EQ(AllElse(*node, number), before);
  ASSERT_TRUE(process.Unstage().ok());
  EXPECT_EQ(AllElse(*node, number), before);
}
INSTANTIATE_TEST_SUITE_P(On, CloudCrashTest, testing::ValuesIn(Clouds()), CloudName);

}  // namespace
}  // namespace csi_proxy::storage
