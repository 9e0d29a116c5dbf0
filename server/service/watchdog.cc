#include "server/service/watchdog.h"

#include <thread>
#include <utility>

#include "absl/time/clock.h"

namespace csi_proxy {

Watchdog& Watchdog::Start(std::function<void()> bite) {
  auto* const watchdog = new Watchdog(std::move(bite));
  std::thread([watchdog] { watchdog->Watch(); }).detach();
  return *watchdog;
}

void Watchdog::Arm(absl::Duration limit) {
  const std::lock_guard lock(mutex_);
  limit_ = absl::Now() + limit;
  changed_.notify_all();
}

void Watchdog::Watch() {
  std::unique_lock lock(mutex_);
  while (true) {
    const absl::Duration left = limit_ - absl::Now();
    if (left <= absl::ZeroDuration()) break;
    if (left == absl::InfiniteDuration()) {
      changed_.wait(lock);
    } else {
      changed_.wait_for(lock, absl::ToChronoMilliseconds(left + absl::Milliseconds(1)));
    }
  }
  bite_();
}

}  // namespace csi_proxy
