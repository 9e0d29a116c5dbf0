// The meaning of the program's exit code.
#pragma once

namespace csi_proxy::ctl {

enum ExitCode {
  kOk = 0,
  kCallFailed = 1,   // or doctor found no pipe that answers
  kUsage = 2,        // nothing was called
  kUnreachable = 3,  // UNAVAILABLE
  kDeadline = 4,     // DEADLINE_EXCEEDED
  kFindings = 5,     // diagnose found something, or repair left something
};

}  // namespace csi_proxy::ctl
