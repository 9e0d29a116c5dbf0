#include "server/locks/turn_queue.h"

#include <algorithm>

#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"

namespace csi_proxy {
namespace {

// The interval at which a waiter checks for cancellation, because cancellation does not wake it.
constexpr absl::Duration kCancellationPoll = absl::Milliseconds(20);

}  // namespace

struct TurnQueue::Waiter {
  Condition changed;
  bool has_turn = false;
};

absl::Status TurnQueue::Wait(const CallContext& context, Mutex& mutex) {
  const auto [entry, is_new] = lines_.try_emplace(context.peer().tenant);
  Line& line = entry->second;
  if (is_new) {
    line.tenant = &entry->first;
    turns_.Append(&line);
  }
  Waiter waiter;
  const auto place = line.waiters.insert(line.waiters.end(), &waiter);
  ++size_;
  absl::Status status = context.Check();
  while (!waiter.has_turn && status.ok()) {
    waiter.changed.WaitUntil(mutex,
                             std::min(context.deadline(), SteadyTime::Now() + kCancellationPoll));
    if (!waiter.has_turn) status = context.Check();
  }
  if (waiter.has_turn) return absl::OkStatus();
  line.waiters.erase(place);
  --size_;
  return status;
}

bool TurnQueue::Pass() {
  const auto take_first = [](Line& line) -> Waiter* {
    if (line.waiters.empty()) return nullptr;
    Waiter* const first = line.waiters.front();
    line.waiters.pop_front();
    return first;
  };
  Waiter* const next = turns_.Pass(
      take_first, [this](const Line* line) { lines_.erase(lines_.find(*line->tenant)); });
  if (next == nullptr) return false;
  --size_;
  next->has_turn = true;
  next->changed.NotifyOne();
  return true;
}

}  // namespace csi_proxy
