#include "server/base/turn_queue.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/base/condition.h"

namespace csi_proxy {
namespace {

// The interval at which waiters look for a cancelled call, because a cancellation wakes none.
constexpr absl::Duration kCancellationPoll = absl::Milliseconds(20);

}  // namespace

struct TurnQueue::Waiter {
  Condition changed;
  bool has_turn = false;
};

absl::Status TurnQueue::Wait(const CallContext& context, Mutex& mutex) {
  Waiter waiter;
  const auto place = waiters_.insert(waiters_.end(), &waiter);
  absl::Status status = context.Check();
  while (!waiter.has_turn && status.ok()) {
    waiter.changed.WaitUntil(mutex, std::min(context.deadline(), absl::Now() + kCancellationPoll));
    if (!waiter.has_turn) status = context.Check();
  }
  if (waiter.has_turn) return absl::OkStatus();
  waiters_.erase(place);
  return status;
}

bool TurnQueue::Pass() {
  if (waiters_.empty()) return false;
  Waiter* const next = waiters_.front();
  waiters_.pop_front();
  next->has_turn = true;
  next->changed.NotifyOne();
  return true;
}

}  // namespace csi_proxy
