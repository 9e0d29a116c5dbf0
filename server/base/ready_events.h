// Events that wait for a thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <unordered_map>
#include <utility>

#include "server/base/turns.h"

namespace csi_proxy {

// A line of events for each tenant, and the threads that sleep until the system has one. The
// tenants have turns, so one with thousands of connections delays only itself. Not thread-safe.
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

  // Appends an event to the line of `tenant`, an address that is only compared. It is null for
  // events without a tenant.
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

  // A thread calls these before and after it looks for events of the system. BeginLook() returns
  // true if no event waits here. Then the thread may sleep. EndLook() takes that result.
  bool BeginLook() {
    if (empty()) ++asleep_;
    return empty();
  }
  void EndLook(bool may_sleep) {
    if (!may_sleep) return;
    --asleep_;
    is_waking_ = false;
  }

  // Returns true if the caller must wake a thread: events wait, a thread sleeps, and no wake is
  // under way. WakeTaken() ends the wake; a thread that did not sleep may take it, too.
  bool MustWake() { return !empty() && asleep_ > 0 && !std::exchange(is_waking_, true); }
  void WakeTaken() { is_waking_ = false; }

 private:
  struct Line {
    bool waits() const { return !events.empty(); }

    const void* tenant = nullptr;
    std::list<Event> events;
    Line* next_turn = nullptr;
  };

  // References to the lines stay valid.
  std::unordered_map<const void*, Line> lines_;
  Turns<Line> turns_;
  size_t size_ = 0;
  size_t asleep_ = 0;  // threads between BeginLook() and EndLook() that may sleep
  bool is_waking_ = false;
};

// Says how many events a thread takes from the system in one look. While pauses separate them it
// takes one, and the system wakes a thread for each. Once they come without a pause it takes many,
// because the system gives turns to connections and not to tenants. Not thread-safe.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kMany = 64;

  bool is_fast() const { return in_a_row_ >= kCalm; }
  int most() const { return is_fast() ? kMany : 1; }
  // Returns true each eighth time. Then the thread looks for events of the system, although events
  // wait here.
  bool LooksAgain() { return ++times_ % 8 == 0; }
  // Says that the thread has looked since `begin`, and has found `count` events. A fast thread must
  // not have waited for them.
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
