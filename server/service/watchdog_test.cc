#include "server/service/watchdog.h"

#include <gtest/gtest.h>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"

namespace csi_proxy {
namespace {

// Static storage, because a watchdog that is never destroyed uses it.
struct Bite {
  absl::Notification done;
  absl::Time at;
};

TEST(WatchdogTest, BitesAfterTheLimitAndNotBefore) {
  static auto& bite = *new Bite();
  // Static, so that LeakSanitizer finds an owner after the thread has ended.
  static Watchdog& watchdog = Watchdog::Start([] {
    bite.at = absl::Now();
    bite.done.Notify();
  });
  EXPECT_FALSE(bite.done.WaitForNotificationWithTimeout(absl::Milliseconds(50)));
  const absl::Time armed = absl::Now();
  watchdog.Arm(absl::Milliseconds(200));
  ASSERT_TRUE(bite.done.WaitForNotificationWithTimeout(absl::Seconds(20)));
  EXPECT_GE(bite.at - armed, absl::Milliseconds(200));
}

}  // namespace
}  // namespace csi_proxy
