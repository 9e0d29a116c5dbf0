// Tests the error of a call whose deadline passes while it waits for the machine.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/groups/strict_disk_testing.h"

namespace csi_proxy::groups {
namespace {

using absl::DeadlineExceededError;
using host::ServiceState;

class WaitsTest : public StrictDiskTest {
 protected:
  static CallContext Hurried() { return CallContext().WithTimeout(absl::Milliseconds(150)); }
};

TEST_F(WaitsTest, ForAService) {
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

// Somebody else sent it there.
TEST_F(WaitsTest, ForAServiceInAnyState) {
  const std::pair<ServiceState, const char*> states[] = {
      {ServiceState::kStopped, "stopped"},
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

TEST_F(WaitsTest, ForAVolume) {
  Change([](NodeState& state) { state.volume_arrival_delay = absl::Hours(1); });
  EXPECT_EQ(disk_->PartitionDisk(Hurried(), {.disk_number = 1}).status(),
            DeadlineExceededError("disk 1 is partitioned, but its volume has not arrived: the "
                                  "call's deadline has passed"));
  ASSERT_TRUE(SetOnline(1, false).ok());
  EXPECT_EQ(disk_->SetDiskState(Hurried(), {.disk_number = 1, .is_online = true}).status(),
            DeadlineExceededError("disk 1 is online, but its volume has not arrived: the call's "
                                  "deadline has passed"));
  // The call could not bring the volume either.
  Inject("wmi.Invoke/MSFT_Partition.Online", 31);
  const absl::Status late =
      disk_->PartitionDisk(context_.WithTimeout(absl::Seconds(1)), {.disk_number = 1}).status();
  EXPECT_TRUE(absl::StartsWith(late.message(),
                               "disk 1 is partitioned, but its volume has not arrived: the call's "
                               "deadline has passed; bringing the partitions of disk 1 online"))
      << late;
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
}

}  // namespace
}  // namespace csi_proxy::groups
