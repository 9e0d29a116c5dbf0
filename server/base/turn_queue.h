// Waiting for one's turn, first come first served.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>

#include "absl/status/status.h"
#include "csi_proxy/call_context.h"

namespace csi_proxy {

// The waiters of something that its owner guards with a mutex, which guards this as well. Stays
// where it is while anybody waits.
class TurnQueue {
 public:
  // Waits, with `lock` released meanwhile, until Pass() gives this caller the turn. CANCELLED or
  // DEADLINE_EXCEEDED when the call ends first.
  absl::Status Wait(const CallContext& context, std::unique_lock<std::mutex>& lock);

  // Gives the turn to the longest waiter; false when nobody waits.
  bool Pass();

  size_t size() const { return waiters_.size(); }

 private:
  struct Waiter;
  std::list<Waiter*> waiters_;
};

}  // namespace csi_proxy
