// Ends the process when a stop does not end by itself.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

#include "absl/time/time.h"

namespace csi_proxy {

// Its thread starts with it, so that a stop needs nothing that may not be there any more. It is
// never destroyed: `bite` may be called at any time.
class Watchdog {
 public:
  // `bite` ends the process. It must not wait for anything that a thread stuck in the kernel may
  // hold, such as the lock of a log.
  static Watchdog& Start(std::function<void()> bite);

  // Bites after `limit`, unless the process has ended.
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
