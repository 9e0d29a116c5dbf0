// Tests calls that wait for the machine: their errors and their worker slots.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "server/groups/strict_disk_testing.h"

namespace csi_proxy::groups {
namespace {

using absl::DeadlineExceededError;
using host::ServiceState;

class WaitsTest : public StrictDiskTest {
 protected:
  static CallContext Hurried() { return CallContext().WithTimeout(absl::Milliseconds(150)); }
};

TEST_F(WaitsTest, ALateStartOrStopReportsTheServicesState) {
  Change([](NodeState& node) {
    for (auto& service : node.services) {
      service.start_latency = service.stop_latency = absl::Hours(1);
      if (service.name == "MSiSCSI") service.state = ServiceState::kStopped;
    }
  });
  EXPECT_EQ(system_->StartService(Hurried(), {.name = "MSiSCSI"}).status(),
            DeadlineExceededError("service MSiSCSI is still starting, not running: the call's "
                                  "deadline has passed"));
  EXPECT_EQ(system_->StopService(Hurried(), {.name = "RpcSs"}).status(),
            DeadlineExceededError(
                "service RpcSs is still stopping, not stopped: the call's deadline has passed"));
}

// Another program started the change of state.
TEST_F(WaitsTest, TheErrorNamesTheStateOfAServiceThatDoesNotStart) {
  const std::pair<ServiceState, const char*> states[] = {
      {ServiceState::kContinuePending, "continuing"},
      {ServiceState::kPausePending, "pausing"},
      {ServiceState::kPaused, "paused"},
  };
  for (const auto& [pending, name] : states) {
    const ServiceState state = pending;
    Change([&](NodeState& node) {
      for (auto& service : node.services) {
        if (service.name == "RpcSs") service.state = state;
      }
    });
    Inject("win32.StartService", 1056);
    EXPECT_EQ(system_->StartService(Hurried(), {.name = "RpcSs"}).status(),
              DeadlineExceededError(absl::StrCat("service RpcSs is still ", name,
                                                 ", not running: the call's deadline has passed")));
  }
}

TEST_F(WaitsTest, TheErrorSaysThatTheVolumeHasNotArrived) {
  Change([](NodeState& state) { state.volume_arrival_delay = absl::Hours(1); });
  EXPECT_EQ(disk_->PartitionDisk(Hurried(), {.disk_number = 1}).status(),
            DeadlineExceededError("disk 1 is partitioned, but its volume has not arrived: the "
                                  "call's deadline has passed"));
  ASSERT_TRUE(SetOnline(1, false).ok());
  EXPECT_EQ(disk_->SetDiskState(Hurried(), {.disk_number = 1, .is_online = true}).status(),
            DeadlineExceededError("disk 1 is online, but its volume has not arrived: the call's "
                                  "deadline has passed"));
  // The call cannot mount the volume either.
  Inject("wmi.Invoke/MSFT_Partition.Online", 31);
  const absl::Status late =
      disk_->PartitionDisk(context_.WithTimeout(absl::Seconds(1)), {.disk_number = 1}).status();
  EXPECT_TRUE(absl::StartsWith(late.message(),
                               "disk 1 is partitioned, but its volume has not arrived: the call's "
                               "deadline has passed; bringing the partitions of disk 1 online"))
      << late;
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
}

class ShareWaitsTest : public HandlerTest {
 protected:
  absl::Status Stage(const CallContext& context, const std::string& server,
                     const std::string& target) {
    return storage_
        ->StageShare(context, {.remote_path = absl::StrCat(R"(\\)", server, R"(\data)"),
                               .target_path = target,
                               .username = R"(EXAMPLE\storage)",
                               .password = "correct horse"})
        .status();
  }
};

struct WaitingSlot final : SlotHolder {
  void Lend() override { waits = true; }
  void Reclaim() override { waits = false; }
  std::atomic<bool> waits = false;
};

// Twenty servers never answer. Nine calls wait for each, eight of these for the share's lock.
TEST_F(ShareWaitsTest, CallsThatWaitForDeadServersYieldTheirSlots) {
  constexpr int kServers = 20, kCallsEach = 9;
  node_->core()->Change([](NodeState& state) {
    for (int i = 0; i < kServers; ++i) {
      machine::simulator::SmbServer server = state.smb_servers[0];
      server.name = absl::StrCat("dead", i);
      state.smb_servers.push_back(server);
    }
  });
  for (int i = 0; i < kServers; ++i) {
    Delay("wmi.Invoke/MSFT_SmbGlobalMapping.Create", absl::Hours(1), 0,
          absl::StrCat(R"(\\dead)", i, R"(\data)"));
  }
  absl::Notification gone;
  std::vector<WaitingSlot> slots(kServers * kCallsEach);
  std::vector<absl::Status> ended(slots.size());
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < slots.size(); ++i) {
      threads.emplace_back([&, i] {
        const CallContext context(absl::InfiniteFuture(), &gone, nullptr, "", &slots[i]);
        ended[i] = Stage(context, absl::StrCat("dead", i % kServers), Below(absl::StrCat("d", i)));
      });
    }
    const absl::Time end = absl::Now() + absl::Minutes(2);
    const auto all_wait = [&] {
      return std::all_of(slots.begin(), slots.end(),
                         [](const WaitingSlot& slot) { return slot.waits.load(); });
    };
    while (!all_wait() && absl::Now() < end) absl::SleepFor(absl::Milliseconds(1));
    EXPECT_TRUE(all_wait());
    const std::string live = Below("live");
    EXPECT_TRUE(Stage(context_, "fileserver.example", live).ok());
    EXPECT_TRUE(storage_->UnstageShare(context_, {.target_path = live}).ok());
    gone.Notify();
  }
  for (const absl::Status& status : ended) EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_EQ(locks_.size(), 0u);
}

}  // namespace
}  // namespace csi_proxy::groups
