// Keeps enough instances of each pipe waiting for clients. Independent of Windows, so that its
// turns and pauses are tested on every platform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"
#include "server/base/back_off.h"
#include "server/base/condition.h"

namespace csi_proxy::rpc {

// Thread-safe. Holds no lock while it calls a function, except `now`.
class WaitingInstances {
 public:
  // The number of a pipe's instances that should wait for clients. A client that finds no waiting
  // instance retries; go-winio does so every 10 ms.
  static constexpr size_t kEnough = 4;
  // The maximum of instances made in one turn: clients may take them as fast as they are made, and
  // other pipes must get their turn.
  static constexpr size_t kMostATurn = 8;

  struct Functions {
    // Must make an instance of the pipe, and call OnAdded() as soon as clients may connect to it.
    std::function<absl::Status(size_t pipe)> make;
    // Must queue the work behind all other work of the thread pool, so that other pipes get their
    // turn. Returns false if that fails.
    std::function<bool(std::function<void()> work)> post;
    // Called when Retry() must run again.
    std::function<void()> wake;
    // Reports that an instance could not be made. Called at a pipe's 1st, 2nd, 4th, 8th failure and
    // so on; `failures` is their number so far.
    std::function<void(size_t pipe, const absl::Status& why, uint64_t failures)> warn;
    std::function<SteadyTime()> now = &SteadyTime::Now;
  };
  WaitingInstances(size_t pipes, Functions functions);

  void OnAdded(size_t pipe);
  void OnTaken(size_t pipe);

  // Makes instances until enough wait. Has no effect while another thread makes instances of the
  // pipe, or in the pause after a failure.
  void Replenish(size_t pipe);
  // Makes instances of the pipes whose pause has ended. Returns the end of the next pause.
  SteadyTime Retry();
  // Stops making instances. A make() that is under way may still finish.
  void Stop();

 private:
  struct Pipe {
    size_t waiting = 0;
    // True while a thread makes instances or is about to.
    bool making = false;
    BackOff back_off{absl::Milliseconds(100), absl::Seconds(3)};
    SteadyTime retry_at = SteadyTime::InfiniteFuture();
  };

  void MakeInstances(size_t pipe);
  void Fail(size_t pipe, const absl::Status& why);

  const Functions functions_;
  Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Pipe> pipes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::rpc
