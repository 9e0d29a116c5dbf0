// A queue of threads that wait for their turn.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "csi_proxy/call_context.h"
#include "server/base/condition.h"
#include "server/base/turns.h"

namespace csi_proxy {

// The tenants of the waiting calls (CallContext::peer()) take turns; the calls of a tenant are
// served in order of arrival. REQUIRES: the mutex of the queue's owner is held in every call, and
// the queue is neither moved nor destroyed while a thread waits.
class TurnQueue {
 public:
  // Waits, releasing `mutex` while waiting, until Pass() gives this caller the turn. Returns
  // CANCELLED or DEADLINE_EXCEEDED if the call ends first.
  absl::Status Wait(const CallContext& context, Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  // Gives the turn to the first waiting call of the next tenant. Returns false if no call waits.
  bool Pass();

  size_t size() const { return size_; }

 private:
  struct Waiter;
  // The waiters of a tenant.
  struct Line {
    bool waits() const { return !waiters.empty(); }
    std::list<Waiter*> waiters;
    Line* next_turn = nullptr;
    const std::string* tenant = nullptr;
  };

  // The keys are tenants. If all waiters of a line give up, the line stays until its next turn.
  std::map<std::string, Line> lines_;
  Turns<Line> turns_;
  size_t size_ = 0;
};

}  // namespace csi_proxy
