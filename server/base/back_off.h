// Pauses between attempts of an action that fails.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "absl/time/time.h"

namespace csi_proxy {

// Computes growing pauses for an action that fails repeatedly. Not thread-safe.
class BackOff {
 public:
  BackOff(absl::Duration first, absl::Duration longest) : first_(first), longest_(longest) {}

  // Counts a failure. Returns the time to wait: twice the last pause, within first..longest.
  absl::Duration Failed() {
    ++failures_;
    pause_ = std::clamp(2 * pause_, first_, longest_);
    return pause_;
  }
  // Resets the next pause to `first`, but not failures().
  void Succeeded() { pause_ = absl::ZeroDuration(); }

  uint64_t failures() const { return failures_; }
  // Returns true if the last failure should be logged: the 1st, 2nd, 4th, 8th and so on, so that a
  // lasting cause does not fill the log.
  bool worth_logging() const { return std::has_single_bit(failures_); }

 private:
  const absl::Duration first_, longest_;
  absl::Duration pause_;
  uint64_t failures_ = 0;
};

}  // namespace csi_proxy
