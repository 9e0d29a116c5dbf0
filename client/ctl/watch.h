// Asks again and again, and shows each answer that differs from the last.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace csi_proxy::ctl::watch {

// A watch, and `top`, asks the service and reads the time through these.
struct Environment {
  // The answer, as it is to be shown.
  std::function<absl::StatusOr<std::string>()> ask;
  std::function<absl::Time()> now;
  // Waits; false: end.
  std::function<bool(absl::Duration)> sleep;
};

// The computer's own time, which never ends a watch.
Environment InRealTime(std::function<absl::StatusOr<std::string>()> ask);

// The line before each answer.
enum class Before {
  kNothing,  // an answer is a line of its own
  kDashes,   // between documents of YAML
  kTime,
  kCleared,  // the time, at the top of a cleared screen
};

// Watches until `sleep` says so, or nobody reads `out` any more, and returns an ExitCode. An error
// is told in `err` when it is another than the last, and the pauses grow; one that says that the
// request is wrong ends the watch.
int Watch(const Environment& environment, absl::Duration interval, Before before, std::ostream& out,
          std::ostream& err);

}  // namespace csi_proxy::ctl::watch
