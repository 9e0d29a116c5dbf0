#include "server/rpc/call_limiter.h"

#include <utility>

#include "absl/time/clock.h"
#include "server/base/peer_process.h"

namespace csi_proxy::rpc {

// Ends with the object, whatever the function does.
class CallLimiter::Turn final : public WorkingPlace {
 public:
  explicit Turn(CallLimiter* calls) : calls_(calls) {}
  ~Turn() {
    const std::lock_guard lock(calls_->mutex_);
    if (away_) {
      --calls_->away_;
    } else {
      calls_->PassOn();
    }
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  void Leave() override {
    const std::lock_guard lock(calls_->mutex_);
    if (away_ || calls_->away_ >= calls_->limits_.max_away) return;
    away_ = true;
    ++calls_->away_;
    calls_->PassOn();
  }

 private:
  CallLimiter* const calls_;
  bool away_ = false;
};

CallLimiter::CallLimiter(Executor::Limits limits, std::vector<CallObserver*> observers,
                         absl::Duration max_duration)
    : limits_(limits),
      observers_(std::move(observers)),
      max_duration_(max_duration),
      own_process_(OwnProcess()) {}

absl::Status CallLimiter::Run(const MethodInfo& method, const CallContext& call,
                              absl::FunctionRef<absl::Status(const CallContext&)> function) {
  const absl::Time arrived = absl::Now();
  const CallContext context =
      call.From(&own_process_, method.pipe).NoLaterThan(arrived + max_duration_);
  for (CallObserver* observer : observers_) observer->OnStart(method);
  absl::Status status = Enter(context);
  if (status.ok()) {
    Turn turn(this);
    status = context.Check();
    if (status.ok()) status = function(context.At(&turn));
  }
  if (!observers_.empty()) {
    const absl::Duration duration = absl::Now() - arrived;
    for (CallObserver* observer : observers_) {
      observer->OnDone(method, own_process_, status, duration);
    }
  }
  if (status.ok()) return status;
  // Nothing but code and text, as over a pipe.
  return absl::Status(status.code(), status.message());
}

size_t CallLimiter::queued() const {
  std::lock_guard lock(mutex_);
  return waiters_.size();
}

absl::Status CallLimiter::Enter(const CallContext& context) {
  std::unique_lock lock(mutex_);
  if (running_ < limits_.max_threads) {
    ++running_;
    return absl::OkStatus();
  }
  if (waiters_.size() >= limits_.max_queued) return TooManyCalls(waiters_.size());
  return waiters_.Wait(context, lock);
}

// Called with the lock held.
void CallLimiter::PassOn() {
  // When the turn passes on, as many run as before.
  if (!waiters_.Pass()) --running_;
}

absl::Status RunAt(CallLimiter* calls, const MethodInfo& method, const CallContext& call,
                   absl::FunctionRef<absl::Status(const CallContext&)> function) {
  return calls != nullptr ? calls->Run(method, call, function) : function(call);
}

}  // namespace csi_proxy::rpc
