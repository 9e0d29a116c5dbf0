// Ends the process if a stop hangs.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

#include "absl/time/time.h"

namespace csi_proxy {

// Starts its thread at once, because a thread may fail to start during a stop. Never destroyed,
// because `bite` may be called at any time.
class Watchdog {
 public:
  // `bite` must end the process, without waiting for what a thread stuck in the kernel may hold,
  // such as the lock of a log.
  static Watchdog& Start(std::function<void()> bite);

  // Calls `bite` after `limit`, unless the process has ended.
  void Arm(absl::Duration limit);

 private:
  explicit Watchdog(std::function<void()> bite) : bite_(std::move(bite)) {}
  void Watch();

  const std::function<void()> bite_;
  std::mutex mutex_;
  std::condition_variable changed_;
  absl::Time limit_ = absl::InfiniteFuture();
};

}  // namespace csi_proxy
