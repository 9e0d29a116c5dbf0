// Keeps enough instances of each pipe waiting for clients. Knows nothing of Windows, so that its
// turns and pauses are tested everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/base/back_off.h"
#include "server/base/condition.h"

namespace csi_proxy::rpc {

// Thread-safe. Holds no lock while it calls a function, but for `now`.
class WaitingInstances {
 public:
  // Instances of a pipe that wait for clients. A client that finds none waits and tries again,
  // which go-winio does every 10 ms.
  static constexpr size_t kEnough = 4;
  // The number that is made at a time. Clients may take them as fast as they are made, and
  // meanwhile the thread does nothing for other pipes.
  static constexpr size_t kMostATurn = 8;

  struct Functions {
    // Makes an instance of the pipe; calls Added() as soon as clients may take it.
    std::function<absl::Status(size_t pipe)> make;
    // Runs the work on a thread of the same pool, behind what waits there. False when it cannot.
    std::function<bool(std::function<void()> work)> post;
    // Retry() is to be called anew.
    std::function<void()> wake;
    // An instance could not be made, the last one of `failures`.
    std::function<void(size_t pipe, const absl::Status& why, uint64_t failures)> warn;
    std::function<absl::Time()> now = &absl::Now;
  };
  WaitingInstances(size_t pipes, Functions functions);

  void Added(size_t pipe);
  void Taken(size_t pipe);

  // Makes instances until enough of them wait, unless another thread does or a pause is on.
  void Replenish(size_t pipe);
  // Makes those whose pause is over. Returns when the next one is.
  absl::Time Retry();
  // No more are made.
  void Stop();

 private:
  struct Pipe {
    size_t waiting = 0;
    // A thread makes instances now, or is about to.
    bool making = false;
    BackOff back_off{absl::Milliseconds(100), absl::Seconds(3)};
    absl::Time retry_at = absl::InfiniteFuture();
  };

  void Turn(size_t pipe);
  void Fail(size_t pipe, const absl::Status& why);

  const Functions functions_;
  // Guards the rest.
  Mutex mutex_;
  bool stopping_ = false;
  std::vector<Pipe> pipes_;
};

}  // namespace csi_proxy::rpc
