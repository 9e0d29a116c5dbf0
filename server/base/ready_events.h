// Events that wait for a thread.
#pragma once

#include <list>
#include <unordered_map>
#include <utility>

#include "server/base/turns.h"

namespace csi_proxy {

// A line of events for each tenant. The tenants have turns, so one with thousands of connections
// delays only itself. Not thread-safe.
template <typename Event>
class ReadyEvents {
 public:
  bool empty() const { return lines_.empty(); }

  // Appends an event to the line of `tenant`, which is only compared. Events of no tenant have
  // null.
  void Put(const void* tenant, Event event) {
    const auto [found, is_new] = lines_.try_emplace(tenant);
    Line& line = found->second;
    line.events.push_back(std::move(event));
    if (!is_new) return;
    line.tenant = tenant;
    turns_.Append(&line);
  }

  // Takes the oldest event of the tenant whose turn it is. REQUIRES: !empty().
  Event Take() {
    Event taken{};
    turns_.Pass(
        [&taken](Line& line) {
          taken = std::move(line.events.front());
          line.events.pop_front();
          return &taken;
        },
        [this](Line* line) { lines_.erase(line->tenant); });
    return taken;
  }

 private:
  struct Line {
    bool waits() const { return !events.empty(); }

    const void* tenant = nullptr;
    std::list<Event> events;
    Line* next_turn = nullptr;
  };

  // Its elements keep their places.
  std::unordered_map<const void*, Line> lines_;
  Turns<Line> turns_;
};

}  // namespace csi_proxy
