// The order in which tenants use a shared resource.
#pragma once

#include <type_traits>

namespace csi_proxy {

// A ring of lines, one for each tenant that waits. After its turn a line goes to the end of the
// ring, so a tenant with a long line delays only itself.
//
// `Line` has `Line* next_turn` for the ring and `bool waits() const`, true while the line has
// waiters. REQUIRES: a line lives until the ring has dropped it; calls are serialised.
template <typename Line>
class Turns {
 public:
  // Puts `line` at the end of the ring. REQUIRES: `line` is not in the ring.
  void Append(Line* line) {
    line->next_turn = last_ != nullptr ? last_->next_turn : line;
    if (last_ != nullptr) last_->next_turn = line;
    last_ = line;
  }

  // Calls `serve` for the lines in order until a call returns non-null, and returns that result.
  // Returns null if no call does. After the call for a line, drops the line if it has no waiters:
  // removes it from the ring, then calls `drop`.
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
  // The last line of the ring; the line with the first turn follows it.
  Line* last_ = nullptr;
};

}  // namespace csi_proxy
