// Repeats a call, and shows each answer that differs from the last.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"

namespace csi_proxy::ctl::watch {

// The request that a watch or `top` repeats, and its clocks. All functions must be set.
struct Environment {
  // Returns the answer in the form in which it is shown.
  std::function<absl::StatusOr<std::string>()> ask;
  // The wall clock, whose time is shown.
  std::function<absl::Time()> now;
  std::function<SteadyTime()> steady_now;
  // Waits. Returns false to end the watch.
  std::function<bool(absl::Duration)> sleep;
  // The `call` of Complain().
  std::string call = {};
};

// Returns an environment with the real clock, which never ends a watch.
Environment InRealTime(std::function<absl::StatusOr<std::string>()> ask);

// The text before each answer.
enum class Before {
  kNothing,  // An answer is one line.
  kDashes,   // Separates YAML documents.
  kTime,
  kCleared,  // The time, at the top of a cleared screen.
};

// Watches until `sleep` returns false or `out` cannot be written, and returns an ExitCode. Prints
// an error to `err` if it differs from the last, and lengthens the pauses. INVALID_ARGUMENT or
// UNIMPLEMENTED ends the watch, because every repetition would fail. REQUIRES: `interval` is
// positive.
int Watch(const Environment& environment, absl::Duration interval, Before before, std::ostream& out,
          std::ostream& err);

}  // namespace csi_proxy::ctl::watch
