// Pauses between attempts of an action that fails.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "absl/time/time.h"

namespace csi_proxy {

// Not thread-safe.
class BackOff {
 public:
  BackOff(absl::Duration first, absl::Duration longest) : first_(first), longest_(longest) {}

  // Counts one more failure and returns the time to wait: twice the last, up to the longest.
  absl::Duration Failed() {
    ++failures_;
    pause_ = std::clamp(2 * pause_, first_, longest_);
    return pause_;
  }
  // The next pause is the first again. The count goes on.
  void Succeeded() { pause_ = absl::ZeroDuration(); }

  uint64_t failures() const { return failures_; }
  // Tells whether the last failure belongs in the log: a cause that stays, or that comes and goes,
  // does not fill it.
  bool worth_telling() const { return std::has_single_bit(failures_); }

 private:
  const absl::Duration first_, longest_;
  absl::Duration pause_;
  uint64_t failures_ = 0;
};

}  // namespace csi_proxy
