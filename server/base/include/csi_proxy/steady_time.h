// A time by a monotonic clock, for deadlines, waits and durations. The wall clock of a virtual
// machine may step by hours when its host resumes it. absl::Time is for times that people read.
#pragma once

#include "absl/time/time.h"

namespace csi_proxy {

// Does not convert from or to absl::Time, so that the clocks cannot be mixed up. Copyable; cheap.
class SteadyTime {
 public:
  // A fixed time before Now().
  constexpr SteadyTime() = default;

  static SteadyTime Now();
  static constexpr SteadyTime InfiniteFuture() { return SteadyTime(absl::InfiniteDuration()); }
  static constexpr SteadyTime InfinitePast() { return SteadyTime(-absl::InfiniteDuration()); }

  SteadyTime& operator+=(absl::Duration time) {
    clock_ += time;
    return *this;
  }
  friend SteadyTime operator+(SteadyTime a, absl::Duration b) { return SteadyTime(a.clock_ + b); }
  friend SteadyTime operator-(SteadyTime a, absl::Duration b) { return SteadyTime(a.clock_ - b); }
  friend absl::Duration operator-(SteadyTime a, SteadyTime b) { return a.clock_ - b.clock_; }
  friend bool operator==(SteadyTime a, SteadyTime b) { return a.clock_ == b.clock_; }
  friend bool operator!=(SteadyTime a, SteadyTime b) { return a.clock_ != b.clock_; }
  friend bool operator<(SteadyTime a, SteadyTime b) { return a.clock_ < b.clock_; }
  friend bool operator<=(SteadyTime a, SteadyTime b) { return a.clock_ <= b.clock_; }
  friend bool operator>(SteadyTime a, SteadyTime b) { return a.clock_ > b.clock_; }
  friend bool operator>=(SteadyTime a, SteadyTime b) { return a.clock_ >= b.clock_; }

 private:
  explicit constexpr SteadyTime(absl::Duration clock) : clock_(clock) {}

  absl::Duration clock_;
};

}  // namespace csi_proxy
