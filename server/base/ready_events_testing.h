// Tests that threads take the events of several tenants in turn.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace csi_proxy {

// Begins many events of one tenant, then one of another. Expects the other tenant's event before
// half of the first tenant's events. `begin` makes an event of `tenant` that calls `work`.
inline void ExpectTurns(
    const std::function<void(const void* tenant, std::function<void()> work)>& begin) {
  constexpr int kMany = 300;
  const int greedy = 0, honest = 0;  // the tenants
  std::atomic<int> begun = 0, done = 0;
  std::atomic<bool> is_late = false;
  absl::Notification all_begun, all_done, served;
  for (int i = 0; i < kMany; ++i) {
    begin(&greedy, [&] {
      all_begun.WaitForNotification();
      if (++begun > kMany / 2 && !is_late) {
        is_late = !served.WaitForNotificationWithTimeout(absl::Seconds(10));
      }
      if (++done == kMany) all_done.Notify();
    });
  }
  begin(&honest, [&] { served.Notify(); });
  all_begun.Notify();
  all_done.WaitForNotification();
  served.WaitForNotification();
  EXPECT_FALSE(is_late);
}

}  // namespace csi_proxy
