// Ends the process if a stop hangs.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace csi_proxy {

// Starts its thread at once, because a thread may fail to start during a stop. Never destroyed,
// because `bite` may be called at any time.
class Watchdog {
 public:
  // `bite` must end the process, without waiting for what a thread stuck in the kernel may hold,
  // such as the lock of a log.
  static Watchdog& Start(std::function<void()> bite) {
    auto* const watchdog = new Watchdog(std::move(bite));
    std::thread([watchdog] { watchdog->Watch(); }).detach();
    return *watchdog;
  }

  // Calls `bite` after `limit`, unless the process has ended.
  void Arm(absl::Duration limit) {
    const std::lock_guard lock(mutex_);
    limit_ = absl::Now() + limit;
    changed_.notify_all();
  }

 private:
  explicit Watchdog(std::function<void()> bite) : bite_(std::move(bite)) {}
  void Watch() {
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

  const std::function<void()> bite_;
  std::mutex mutex_;
  std::condition_variable changed_;
  absl::Time limit_ = absl::InfiniteFuture();
};

}  // namespace csi_proxy
