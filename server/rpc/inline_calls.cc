#include "server/rpc/inline_calls.h"

#include <algorithm>
#include <utility>

namespace csi_proxy::rpc {
namespace {

// The longest time until a call learns that it was cancelled.
constexpr absl::Duration kLook = absl::Milliseconds(20);

// The watcher sleeps after this many looks without a call.
constexpr int kIdleLooks = 50;

}  // namespace

InlineCalls::~InlineCalls() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyOne();
  }
  if (watcher_.joinable()) watcher_.join();
}

bool InlineCalls::TryBegin(Call* call) {
  const MutexLock lock(mutex_);
  if (calls_.size() >= most_) return false;
  if (!watcher_.joinable()) {
    // Without a watcher no call would learn that it was cancelled.
    absl::StatusOr<std::thread> watcher = start_thread_([this] { Watch(); });
    if (!watcher.ok()) return false;
    watcher_ = *std::move(watcher);
  }
  calls_.push_back({call});
  used_ = true;
  if (asleep_) {
    asleep_ = false;
    wake_.NotifyOne();
  }
  return true;
}

void InlineCalls::End(Call* call) {
  const MutexLock lock(mutex_);
  const auto found = std::find_if(calls_.begin(), calls_.end(),
                                  [&](const UnderWay& one) { return one.call == call; });
  *found = calls_.back();
  calls_.pop_back();
}

void InlineCalls::Watch() {
  const MutexLock lock(mutex_);
  for (int idle = 0; !stopping_;) {
    bool some_are_slow = false;
    for (UnderWay& one : calls_) {
      some_are_slow |= std::exchange(one.is_slow, true);
      if (one.cancelled || !one.call->IsCancelled()) continue;
      one.cancelled = true;
      one.call->Cancel();
    }
    if (some_are_slow && on_slow_call_ != nullptr) {
      mutex_.Unlock();
      on_slow_call_();
      mutex_.Lock();
    }
    idle = used_ || !calls_.empty() ? 0 : idle + 1;
    used_ = false;
    if (idle < kIdleLooks) {
      wake_.WaitFor(mutex_, kLook);
      continue;
    }
    idle = 0;
    asleep_ = true;
    while (asleep_ && !stopping_) wake_.Wait(mutex_);
  }
}

}  // namespace csi_proxy::rpc
