// Calls that do their work on the thread of their caller: what the executor is to rpcs that arrive
// over a pipe, for callers in the same process.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/shim/executor.h"
#include "server/shim/runtime.h"

namespace csi_proxy::shim {

// Thread-safe. At most `max_threads` calls work at once; up to `max_queued` more wait for their
// turn, first come first served, and for no longer than their deadlines.
class CallLimiter {
 public:
  // `observers` are not owned. No call takes longer than `max_duration`.
  CallLimiter(Executor::Limits limits, std::vector<CallObserver*> observers,
              absl::Duration max_duration);
  CallLimiter(const CallLimiter&) = delete;
  CallLimiter& operator=(const CallLimiter&) = delete;

  // Runs `function(const CallContext&) -> absl::Status` once it is the call's turn, and returns
  // what it returns; RESOURCE_EXHAUSTED when too many wait, CANCELLED or DEADLINE_EXCEEDED when the
  // call ends before its turn comes.
  template <typename Function>
  absl::Status Run(const MethodInfo& method, const CallContext& call, const Function& function) {
    const absl::Time arrived = absl::Now();
    const CallContext context =
        call.From(&own_process_, method.pipe).NoLaterThan(arrived + max_duration_);
    for (CallObserver* observer : observers_) observer->OnStart(method);
    absl::Status status = Enter(context);
    if (status.ok()) {
      const Turn turn(this);
      status = context.Check();
      if (status.ok()) status = function(context);
    }
    // Nothing but code and text, as over a pipe.
    if (!status.ok()) status = absl::Status(status.code(), status.message());
    if (!observers_.empty()) {
      const absl::Duration duration = absl::Now() - arrived;
      for (CallObserver* observer : observers_) {
        observer->OnDone(method, own_process_, status, duration);
      }
    }
    return status;
  }

  // How many calls wait for their turn.
  size_t queued() const;

 private:
  struct Waiter;
  // Leaves with the object, whatever the function does.
  class Turn {
   public:
    explicit Turn(CallLimiter* calls) : calls_(calls) {}
    ~Turn() { calls_->Leave(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    CallLimiter* const calls_;
  };

  absl::Status Enter(const CallContext& context);
  void Leave();

  const Executor::Limits limits_;
  const std::vector<CallObserver*> observers_;
  const absl::Duration max_duration_;
  const Peer own_process_;

  mutable std::mutex mutex_;
  size_t running_ = 0;
  std::list<Waiter*> waiters_;
};

}  // namespace csi_proxy::shim
