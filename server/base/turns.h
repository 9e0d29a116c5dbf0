// The order in which tenants get what they share.
#pragma once

#include <type_traits>

namespace csi_proxy {

// A ring of lines, one for each tenant that waits. A line that was served goes behind all others,
// so a tenant with a long line delays only itself.
//
// `Line` has `Line* next_turn` for the ring and `bool waits() const`, which is true while the line
// has waiters. REQUIRES: a line lives until the ring has dropped it; calls are serialised.
template <typename Line>
class Turns {
 public:
  // Puts `line` behind all others. REQUIRES: `line` is not in the ring.
  void Append(Line* line) {
    line->next_turn = last_ != nullptr ? last_->next_turn : line;
    if (last_ != nullptr) last_->next_turn = line;
    last_ = line;
  }

  // Calls `serve` for the lines in order until a call returns non-null, and returns that result.
  // Returns null if no call does. Calls `drop` for each line without waiters, after removing the
  // line from the ring.
  template <typename Serve, typename Drop>
  std::invoke_result_t<Serve, Line&> Pass(Serve serve, Drop drop) {
    Line* const end = last_;
    for (bool is_end = end == nullptr; !is_end;) {
      Line* const before = last_;
      Line* const line = before->next_turn;
      is_end = line == end;
      const auto served = serve(*line);
      if (line->waits()) {
        last_ = line;
      } else {
        before->next_turn = line->next_turn;
        if (before == line) last_ = nullptr;
        drop(line);
      }
      if (served != nullptr) return served;
    }
    return nullptr;
  }

 private:
  // The line whose turn is last; it is followed by the line whose turn is first.
  Line* last_ = nullptr;
};

}  // namespace csi_proxy
