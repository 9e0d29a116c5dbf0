// Limits the calls of callers in the same process, which run on the callers' own threads; rpcs that
// arrive over a pipe run on the executor instead.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/base/turn_queue.h"
#include "server/rpc/executor.h"
#include "server/rpc/runtime.h"

namespace csi_proxy::rpc {

// Thread-safe. At most `max_threads` calls work at once, and `max_blocked` more have begun and wait
// (YieldSlot). Up to `max_queued` wait for their turn to begin, first come first served, and for no
// longer than their deadlines.
class CallLimiter {
 public:
  // `observers` are not owned. No call takes longer than `max_duration`.
  CallLimiter(Executor::Limits limits, std::vector<CallObserver*> observers,
              absl::Duration max_duration);
  CallLimiter(const CallLimiter&) = delete;
  CallLimiter& operator=(const CallLimiter&) = delete;

  // Runs `function` once it is the call's turn, and returns what it returns; RESOURCE_EXHAUSTED
  // when too many wait, CANCELLED or DEADLINE_EXCEEDED when the call ends before its turn comes.
  absl::Status Run(const MethodInfo& method, const CallContext& call,
                   absl::FunctionRef<absl::Status(const CallContext&)> function);

  // The number of calls that wait for their turn.
  size_t queued() const;

 private:
  class Slot;
  absl::Status Enter(const CallContext& context);
  void PassOn();

  const Executor::Limits limits_;
  const std::vector<CallObserver*> observers_;
  const absl::Duration max_duration_;
  const Peer own_process_;

  mutable std::mutex mutex_;
  size_t running_ = 0;
  size_t begun_ = 0;  // those that run, and those that have begun and wait
  // The waiters for a slot: calls that have begun, which go first, and those that have not.
  TurnQueue reclaims_;
  TurnQueue waiters_;
};

// Returns an error as its caller gets it: code and text alone. A text of more than 2 KiB loses its
// middle, because its beginning names the field and its end the reason.
absl::Status StatusForCaller(const absl::Status& error);

// As Run(); at once when `calls` is null.
absl::Status RunAt(CallLimiter* calls, const MethodInfo& method, const CallContext& call,
                   absl::FunctionRef<absl::Status(const CallContext&)> function);

}  // namespace csi_proxy::rpc
