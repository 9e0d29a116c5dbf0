// A queue of threads that wait for their turn.
#pragma once

#include <cstddef>
#include <list>

#include "absl/status/status.h"
#include "csi_proxy/call_context.h"
#include "server/base/condition.h"

namespace csi_proxy {

// First come, first served. REQUIRES: the mutex of the queue's owner is held in every call, and the
// queue is neither moved nor destroyed while a thread waits.
class TurnQueue {
 public:
  // Waits, releasing `mutex` while waiting, until Pass() gives this caller the turn. Returns
  // CANCELLED or DEADLINE_EXCEEDED if the call ends first.
  absl::Status Wait(const CallContext& context, Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  // Gives the turn to the longest waiter. Returns false if there is none.
  bool Pass();

  size_t size() const { return waiters_.size(); }

 private:
  struct Waiter;
  std::list<Waiter*> waiters_;
};

}  // namespace csi_proxy
