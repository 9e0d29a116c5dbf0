// Events that wait for a thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <unordered_map>
#include <utility>

#include "server/base/turns.h"

namespace csi_proxy {

// Holds a line of events for each tenant, and counts the threads that sleep until the system has an
// event. Take() serves the tenants in turn, so a tenant with thousands of connections delays only
// itself. Not thread-safe.
template <typename Event>
class ReadyEvents {
 public:
  bool empty() const { return lines_.empty(); }
  size_t size() const { return size_; }
  // Returns how many events of `tenant` wait.
  size_t size_of(const void* tenant) const {
    const auto found = lines_.find(tenant);
    return found != lines_.end() ? found->second.events.size() : 0;
  }

  // Appends an event to the line of `tenant`, an address that is only compared. The address is null
  // for events without a tenant.
  void Put(const void* tenant, Event event) {
    const auto [found, is_new] = lines_.try_emplace(tenant);
    Line& line = found->second;
    line.events.push_back(std::move(event));
    ++size_;
    if (!is_new) return;
    line.tenant = tenant;
    turns_.Append(&line);
  }

  // Takes the oldest event of the next tenant in turn. REQUIRES: !empty().
  Event Take() {
    Event taken{};
    turns_.Pass(
        [this, &taken](Line& line) {
          taken = std::move(line.events.front());
          line.events.pop_front();
          --size_;
          return &taken;
        },
        [this](Line* line) { lines_.erase(line->tenant); });
    return taken;
  }

  // A thread calls BeginLook() before it looks for events of the system. BeginLook() returns true
  // if no event waits here; then the thread may sleep. After the look, the thread passes that
  // result to EndLook().
  bool BeginLook() {
    if (empty()) ++asleep_;
    return empty();
  }
  void EndLook(bool may_sleep) {
    if (!may_sleep) return;
    --asleep_;
    is_waking_ = false;
  }

  // MustWake() returns true, and begins a wake, if events wait, a thread sleeps and no wake is
  // under way. Then the caller must wake a thread. WakeTaken() ends the wake; a thread that did not
  // sleep may take the wake, too.
  bool MustWake() { return !empty() && asleep_ > 0 && !std::exchange(is_waking_, true); }
  void WakeTaken() { is_waking_ = false; }

 private:
  struct Line {
    bool waits() const { return !events.empty(); }

    const void* tenant = nullptr;
    std::list<Event> events;
    Line* next_turn = nullptr;
  };

  // An unordered_map, because `turns_` needs pointers to lines that stay valid.
  std::unordered_map<const void*, Line> lines_;
  Turns<Line> turns_;
  size_t size_ = 0;
  size_t asleep_ = 0;  // threads between BeginLook() and EndLook() that may sleep
  bool is_waking_ = false;
};

// Chooses how many events a thread takes from the system in one look. While events arrive with
// pauses, the thread takes one event, so that the system wakes a thread for each event. When events
// arrive without a pause, the thread takes kMany, so that ReadyEvents can give turns to tenants.
// The system gives turns to connections only. Not thread-safe.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kMany = 64;

  bool is_fast() const { return in_a_row_ >= kCalm; }
  int most() const { return is_fast() ? kMany : 1; }
  // Returns true at each eighth call. Then the thread looks for events of the system, although
  // events wait in ReadyEvents.
  bool LooksAgain() { return ++times_ % 8 == 0; }
  // Records a look that began at `begin` and found `count` events. REQUIRES: the look did not wait
  // if is_fast().
  void Looked(Clock::time_point begin, size_t count) {
    const bool paused = is_fast() ? count == 0 : Clock::now() - begin > kPause;
    in_a_row_ = paused ? 0 : in_a_row_ + 1;
  }

 private:
  static constexpr int kCalm = 8;
  static constexpr std::chrono::microseconds kPause{200};

  int in_a_row_ = 0;
  unsigned times_ = 0;
};

}  // namespace csi_proxy
