// Ends the process if a stop hangs.
#pragma once

#include <functional>
#include <thread>
#include <utility>

#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"

namespace csi_proxy {

// Start() already starts the watching thread, because a thread may fail to start during a stop.
// Never destroyed, because `bite` may be called at any time.
class Watchdog {
 public:
  // `bite` must end the process. It must not wait for a resource that a thread stuck in the kernel
  // may hold, such as the lock of a log.
  static Watchdog& Start(std::function<void()> bite) {
    auto* const watchdog = new Watchdog(std::move(bite));
    std::thread([watchdog] { watchdog->Watch(); }).detach();
    return *watchdog;
  }

  // Calls `bite` after `limit`, unless the process has ended.
  void Arm(absl::Duration limit) {
    const MutexLock lock(mutex_);
    limit_ = SteadyTime::Now() + limit;
    changed_.NotifyAll();
  }

 private:
  explicit Watchdog(std::function<void()> bite) : bite_(std::move(bite)) {}
  void Watch() {
    const MutexLock lock(mutex_);
    while (changed_.WaitUntil(mutex_, limit_)) {
    }
    bite_();
  }

  const std::function<void()> bite_;
  Mutex mutex_;
  Condition changed_;
  SteadyTime limit_ ABSL_GUARDED_BY(mutex_) = SteadyTime::InfiniteFuture();
};

}  // namespace csi_proxy
