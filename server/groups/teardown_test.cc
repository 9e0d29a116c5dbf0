// Teardown always ends: although one call of the machine always fails, nothing is mounted or linked
// at the target after three repeats, and no other object has changed.
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/groups/rpcs_testing.h"
#include "server/simulator/scenario.h"

namespace csi_proxy::groups {
namespace {

using machine::simulator::FaultRule;
using machine::simulator::NodeState;
using machine::simulator::StateToProto;
using machine::simulator::Tree;
using testing::Contains;
using testing::HasSubstr;

constexpr char kMounted[] = "var\\lib\\kubelet\\mounted";
constexpr char kLinked[] = "var\\lib\\kubelet\\share";
constexpr uint32_t kDisk = 2;

// An answer's list of steps that were not done.
using Warnings = std::vector<std::string>;

struct Teardown {
  const char* name;
  const char* target;
  std::function<absl::StatusOr<Warnings>(Node&, const CallContext&)> call;
};

template <typename Response>
absl::StatusOr<Warnings> WarningsOf(const absl::StatusOr<Response>& response) {
  if (!response.ok()) return response.status();
  return response->warnings;
}
template <typename Response>
absl::StatusOr<Warnings> NoWarnings(const absl::StatusOr<Response>& response) {
  if (!response.ok()) return response.status();
  return Warnings();
}

const Teardown kTeardowns[] = {
    {"UnmountVolume", kMounted,
     [](Node& n, const CallContext& c) {
       return NoWarnings(
           n.services->volume.service->UnmountVolume(c, {kVolume.ToString(), Below("mounted")}));
     }},
    {"Rmdir", kMounted,
     [](Node& n, const CallContext& c) {
       return NoWarnings(n.services->filesystem.service->Rmdir(c, {Below("mounted"), false}));
     }},
    {"UnstageVolume", kMounted,
     [](Node& n, const CallContext& c) {
       return WarningsOf(n.services->storage.service->UnstageVolume(c, {Below("mounted")}));
     }},
    {"UnstageTarget", kMounted,
     [](Node& n, const CallContext& c) {
       return WarningsOf(n.services->storage.service->UnstageTarget(
           c, {.target_path = Below("mounted"), .iqn = "iqn.x:joined", .lun_id = "0"}));
     }},
    {"UnstageShare", kLinked,
     [](Node& n, const CallContext& c) {
       return WarningsOf(
           n.services->storage.service->UnstageShare(c, {Below("share"), host::kMapped}));
     }},
};

NodeState Prepared() {
  Node node(host::PreparedNode());
  EXPECT_TRUE(node.machine->MakeLink(Below("share"), host::kMapped).ok());
  return node.machine->Snapshot();
}

std::optional<Tree::Id> Find(const Tree& tree, const std::string& path) {
  for (const Tree::Id id : tree.Walk()) {
    if (tree.PathOf(id) == path) return id;
  }
  return std::nullopt;
}

Tree& SystemTree(NodeState& state) { return state.disks[0].partitions[2].volume->tree; }

bool IsThere(NodeState state, const std::string& target) {
  const Tree& tree = SystemTree(state);
  const auto entry = Find(tree, target);
  return entry.has_value() &&
         (tree.at(*entry).mounted.has_value() || tree.at(*entry).kind == Tree::Kind::kLink);
}

// Returns the node without the parts that the teardown of `target` may change.
std::string Others(NodeState state, const std::string& target) {
  state.faults.clear();
  Tree& tree = SystemTree(state);
  if (const auto entry = Find(tree, target); entry.has_value()) tree.Remove(*entry);
  for (auto& disk : state.disks) {
    if (disk.number != kDisk) continue;
    disk.online = true;
    for (auto& partition : disk.partitions) {
      if (partition.volume.has_value()) partition.volume->stale_folders.clear();
    }
  }
  state.smb_mappings.clear();
  for (auto& portal : state.iscsi_portals) {
    for (auto& each : portal.targets) each.connected = each.persistent = false;
  }
  return StateToProto(state).DebugString();
}

// Calls without which the entry at a target can be neither seen nor removed.
const std::set<std::string> kOfTheEntry = {"win32.Open", "win32.OpenBelow", "win32.GetAttributes",
                                           "win32.ReadReparsePoint", "win32.Delete"};

// The errors that Windows documents for a device that fails, or is locked, and for WMI.
constexpr uint32_t kDeviceErrors[] = {2,   5,   21,   23,   31,   55,   87,        112,
                                      433, 483, 1006, 1117, 1167, 1392, 0x80310000};
constexpr uint32_t kWmiErrors[] = {0x80041001, 0x80041003, 0x80041013};
// The return values of MSFT_Disk.Offline
// (learn.microsoft.com/windows-hardware/drivers/storage/msft-disk-offline) and the common ones.
constexpr uint32_t kReturnValues[] = {1, 2, 3, 4, 5, 6, 40001, 40002, 40003, 41009, 41018};

std::vector<uint32_t> ErrorsOf(const std::string& operation) {
  std::vector<uint32_t> errors;
  if (absl::StartsWith(operation, "win32.")) {
    errors.assign(std::begin(kDeviceErrors), std::end(kDeviceErrors));
    return errors;
  }
  errors.assign(std::begin(kWmiErrors), std::end(kWmiErrors));
  if (absl::StartsWith(operation, "wmi.Invoke/")) {
    errors.insert(errors.end(), std::begin(kReturnValues), std::end(kReturnValues));
  }
  return errors;
}

TEST(TeardownTest, EndsWhicheverCallOfTheMachineFailsForGood) {
  const NodeState prepared = Prepared();
  int faults = 0;
  for (const Teardown& teardown : kTeardowns) {
    for (const absl::string_view call : machine::simulator::Operations()) {
      const std::string operation(call);
      if (machine::simulator::MatchesOperation("*", call)) continue;
      for (const uint32_t error : ErrorsOf(operation)) {
        SCOPED_TRACE(absl::StrCat(teardown.name, ", ", operation, " fails with ", error));
        Node node(prepared);
        FaultRule rule;
        rule.operation = operation;
        rule.code = absl::StatusCode::kInternal;
        rule.error = machine::simulator::KnownError(error);
        ASSERT_TRUE(node.machine->InjectFault(rule).ok());
        absl::StatusOr<Warnings> answer;
        for (int repeat = 0; repeat < 3; ++repeat) {
          answer = teardown.call(node, CallContext().WithTimeout(absl::Seconds(10)));
          if (answer.ok()) break;
        }
        const NodeState after = node.machine->Snapshot();
        EXPECT_EQ(Others(after, teardown.target), Others(prepared, teardown.target));
        EXPECT_EQ(node.locks.size(), 0u);
        if (kOfTheEntry.contains(operation)) continue;
        EXPECT_FALSE(IsThere(after, teardown.target)) << answer.status();
        ++faults;
        // A failed flush must not stop the teardown, but be reported.
        if (operation != "win32.Flush" || teardown.target == std::string(kLinked)) continue;
        EXPECT_TRUE(answer.ok()) << answer.status();
        EXPECT_THAT(node.warnings, Contains(HasSubstr("was not flushed")));
        if (absl::StartsWith(teardown.name, "Unstage")) {
          EXPECT_THAT(*answer, Contains(HasSubstr("was not flushed")));
        }
      }
    }
  }
  EXPECT_GT(faults, 1000);
}

// If WMI never answers, the call must still have time to remove the mount.
TEST(TeardownTest, EndsWhenWmiHangs) {
  Node node(Prepared());
  FaultRule rule;
  rule.operation = "wmi.*";
  rule.latency = absl::Hours(1);
  ASSERT_TRUE(node.machine->InjectFault(rule).ok());
  const auto unstaged = node.services->storage.service->UnstageVolume(
      CallContext().WithTimeout(absl::Seconds(1)), {Below("mounted")});
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_FALSE(IsThere(node.machine->Snapshot(), kMounted));
  EXPECT_THAT(unstaged->warnings, Contains(HasSubstr("disk 2 stays online")));
}

}  // namespace
}  // namespace csi_proxy::groups
