#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <vector>

#include "absl/synchronization/notification.h"
#include "server/host/host.h"
#include "server/host/odd_machine_testing.h"

namespace csi_proxy::host {
namespace {

using absl::Milliseconds;
using testing::SizeIs;

// A machine whose arrivals of devices the test controls. Records the limits of the waits.
class ScriptedOs final : public OddOs {
 public:
  explicit ScriptedOs(Machine& node) : OddOs(node) {}

  uint64_t DeviceChanges() override { return changes; }
  void AwaitDeviceChange(uint64_t seen, absl::Duration limit) override {
    waits.push_back(limit);
    if (on_wait != nullptr) on_wait();
    if (changes == seen) absl::SleepFor(limit);
  }

  uint64_t changes = 0;
  std::vector<absl::Duration> waits;
  std::function<void()> on_wait;
};

class DeviceWatchTest : public testing::Test {
 protected:
  // Calls Watch() and Wait(). Returns the limit of the first wait that the watch requested from the
  // machine.
  absl::Duration Pause() {
    os_.waits.clear();
    watch_.Watch();
    EXPECT_THAT(watch_.Wait(CallContext()), IsOk());
    return os_.waits.empty() ? absl::ZeroDuration() : os_.waits.front();
  }

  const std::unique_ptr<Machine> node_ = TestNode();
  ScriptedOs os_{*node_};
  DeviceWatch watch_{&os_, Milliseconds(2), Milliseconds(7)};
};

TEST_F(DeviceWatchTest, ThePausesGrowUntilADeviceArrives) {
  EXPECT_LE(Pause(), Milliseconds(2));
  EXPECT_GT(Pause(), Milliseconds(2));
  EXPECT_GT(Pause(), Milliseconds(4));
  EXPECT_LE(Pause(), Milliseconds(7));
  os_.on_wait = [this] { ++os_.changes; };
  (void)Pause();
  os_.on_wait = nullptr;
  EXPECT_LE(Pause(), Milliseconds(2));
}

TEST_F(DeviceWatchTest, WaitReturnsIfADeviceArrivedAfterWatch) {
  watch_.Watch();
  ++os_.changes;
  EXPECT_THAT(watch_.Wait(CallContext()), IsOk());
  EXPECT_THAT(os_.waits, SizeIs(1));
}

TEST_F(DeviceWatchTest, TheWaitEndsWithItsCall) {
  DeviceWatch slow(&os_, absl::Hours(1), absl::Hours(1));
  slow.Watch();
  EXPECT_TRUE(absl::IsDeadlineExceeded(slow.Wait(CallContext().WithTimeout(Milliseconds(1)))));

  absl::Notification cancelled;
  os_.on_wait = [&] {
    if (!cancelled.HasBeenNotified()) cancelled.Notify();
  };
  EXPECT_TRUE(absl::IsCancelled(slow.Wait(CallContext(absl::InfiniteFuture(), &cancelled))));
}

}  // namespace
}  // namespace csi_proxy::host
