#include "server/rpc/call_limiter.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/steady_time.h"
#include "server/base/peer_process.h"

namespace csi_proxy::rpc {
namespace {

// The most bytes of an error's text. A header carries the text percent-encoded, which may triple
// its length, and clients accept 8 KiB of headers in all
// (github.com/grpc/grpc/blob/v1.51.1/include/grpc/impl/codegen/grpc_types.h, MAX_METADATA_SIZE).
constexpr size_t kMaxErrorText = 2048;

}  // namespace

// Releases the slot in its destructor, however the function ends.
class CallLimiter::Slot final : public SlotHolder {
 public:
  explicit Slot(CallLimiter* calls) : calls_(calls) {}
  ~Slot() {
    const MutexLock lock(calls_->mutex_);
    --calls_->running_;
    --calls_->begun_;
    calls_->PassOn();
  }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  void Lend() override {
    const MutexLock lock(calls_->mutex_);
    --calls_->running_;
    calls_->PassOn();
  }

  void Reclaim() override {
    const MutexLock lock(calls_->mutex_);
    if (calls_->running_ < calls_->limits_.max_threads) {
      ++calls_->running_;
    } else {
      calls_->reclaims_.Wait(CallContext(), calls_->mutex_).IgnoreError();  // without a deadline
    }
  }

 private:
  CallLimiter* const calls_;
};

CallLimiter::CallLimiter(Executor::Limits limits, std::vector<CallObserver*> observers,
                         absl::Duration max_duration)
    : limits_(limits),
      observers_(std::move(observers)),
      max_duration_(max_duration),
      own_process_(OwnProcess()) {}

absl::Status CallLimiter::Run(const MethodInfo& method, const CallContext& call,
                              absl::FunctionRef<absl::Status(const CallContext&)> function) {
  const SteadyTime arrived = SteadyTime::Now();
  const CallContext context =
      call.From(&own_process_, method.pipe).NoLaterThan(arrived + max_duration_);
  for (CallObserver* observer : observers_) observer->OnStart(method);
  absl::Status status = Enter(context);
  if (status.ok()) {
    Slot slot(this);
    status = context.Check();
    if (status.ok()) status = function(context.With(&slot));
  }
  if (!observers_.empty()) {
    const absl::Duration duration = SteadyTime::Now() - arrived;
    for (CallObserver* observer : observers_) {
      observer->OnDone(method, context, status, duration);
    }
  }
  return StatusForCaller(status);
}

size_t CallLimiter::queued() const {
  const MutexLock lock(mutex_);
  return waiters_.size();
}

absl::Status CallLimiter::Enter(const CallContext& context) {
  const MutexLock lock(mutex_);
  if (running_ < limits_.max_threads && begun_ < limits_.max_threads + limits_.max_blocked) {
    ++running_;
    ++begun_;
    return absl::OkStatus();
  }
  if (waiters_.size() >= limits_.max_queued) return TooManyCalls(waiters_.size());
  return waiters_.Wait(context, mutex_);
}

void CallLimiter::PassOn() {
  while (running_ < limits_.max_threads) {
    if (!reclaims_.Pass()) {
      if (begun_ >= limits_.max_threads + limits_.max_blocked || !waiters_.Pass()) return;
      ++begun_;
    }
    ++running_;
  }
}

absl::Status StatusForCaller(const absl::Status& error) {
  const absl::string_view text = error.message();
  if (text.size() <= kMaxErrorText) return absl::Status(error.code(), text);
  constexpr size_t kHalf = kMaxErrorText / 2;
  const auto cuts_character = [&](size_t at) { return (text[at] & 0xC0) == 0x80; };
  size_t begin = kHalf, end = text.size() - kHalf;
  while (begin > 0 && cuts_character(begin)) --begin;
  while (end < text.size() && cuts_character(end)) ++end;
  return absl::Status(error.code(), absl::StrCat(text.substr(0, begin), " ... (", end - begin,
                                                 " bytes are left out) ... ", text.substr(end)));
}

absl::Status RunAt(CallLimiter* calls, const MethodInfo& method, const CallContext& call,
                   absl::FunctionRef<absl::Status(const CallContext&)> function) {
  return calls != nullptr ? calls->Run(method, call, function) : function(call);
}

}  // namespace csi_proxy::rpc
