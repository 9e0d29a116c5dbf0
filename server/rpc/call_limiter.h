// Limits the calls of callers in the same process, which run on the callers' own threads; rpcs that
// arrive over a pipe run on the executor instead.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/base/condition.h"
#include "server/base/turn_queue.h"
#include "server/rpc/deps.h"
#include "server/rpc/executor.h"

namespace csi_proxy::rpc {

// Runs at most `max_threads` calls at once; at most `max_blocked` more have begun and wait
// (YieldSlot). Up to `max_queued` calls wait to begin, first come first served, until their
// deadlines at the latest. Thread-safe.
class CallLimiter {
 public:
  // Cuts the deadline of every call to `max_duration`. REQUIRES: `observers` outlive the limiter.
  CallLimiter(Executor::Limits limits, std::vector<CallObserver*> observers,
              absl::Duration max_duration);
  CallLimiter(const CallLimiter&) = delete;
  CallLimiter& operator=(const CallLimiter&) = delete;

  // Runs `function` as soon as there is a slot, and returns its status. Returns RESOURCE_EXHAUSTED
  // if too many calls wait, CANCELLED or DEADLINE_EXCEEDED if the call ends before it has a slot.
  absl::Status Run(const MethodInfo& method, const CallContext& call,
                   absl::FunctionRef<absl::Status(const CallContext&)> function);

  // Returns the number of calls that wait to begin.
  size_t queued() const;

 private:
  class Slot;
  absl::Status Enter(const CallContext& context);
  // Gives free slots to waiters.
  void PassOn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Executor::Limits limits_;
  const std::vector<CallObserver*> observers_;
  const absl::Duration max_duration_;
  const Peer own_process_;

  mutable Mutex mutex_;
  size_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  // Calls that run, and calls that have begun and wait.
  size_t begun_ ABSL_GUARDED_BY(mutex_) = 0;
  // Calls that wait for a slot: calls that have begun, which go first, and calls that have not.
  TurnQueue reclaims_ ABSL_GUARDED_BY(mutex_);
  TurnQueue waiters_ ABSL_GUARDED_BY(mutex_);
};

// Returns an error as its caller gets it: code and text alone. A text of more than 2 KiB loses its
// middle, because its beginning names the field and its end the reason.
absl::Status StatusForCaller(const absl::Status& error);

// Calls `calls->Run()`; calls `function` at once if `calls` is null.
absl::Status RunAt(CallLimiter* calls, const MethodInfo& method, const CallContext& call,
                   absl::FunctionRef<absl::Status(const CallContext&)> function);

}  // namespace csi_proxy::rpc
