// Tells when the process is to stop, by whoever started it: a terminal or container by signals, or
// Windows' service control manager.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace csi_proxy {

// Connects the program to the one that started it, as the service manager. Called from one thread,
// but for RequestStop().
class Supervisor {
 public:
  virtual ~Supervisor() = default;

  // Everything answers.
  virtual void ReportRunning() = 0;

  // Blocks until the process is told to stop; says by what, as `SIGTERM` or `service stop`.
  virtual std::string AwaitStop() = 0;

  // As if the process was told to stop, by `reason`, because it cannot go on. May be called by any
  // thread, at any time.
  virtual void RequestStop(std::string reason) = 0;

  // The stop has begun. If the process is still there after `limit`, because some call of the
  // system does not return, it is ended. Being told to stop again ends it at once where that is
  // customary (a second Ctrl-C).
  virtual void ReportStopping(absl::Duration limit) = 0;
};

// Exit codes of the program, and the service-specific ones under the service control manager.
enum ExitCode {
  kExitOk = 0,
  kExitFailed = 1,
  kExitUsage = 2,
  // Told to stop, it stopped, but for a call that did not return. The service control manager is
  // told of success, so that it does not start the service again.
  kExitCallStuck = 3,
};

// Runs `body`, which starts the service, waits for the stop and stops, and returns an ExitCode.
// Under the service control manager, when `as_service`, `body` runs on a thread of its own, and
// what it returns is reported as the service-specific exit code. Fails with FAILED_PRECONDITION
// when asked for a service manager that is not there; `body` has not run then.
absl::Status RunSupervised(bool as_service, const std::function<int(Supervisor&)>& body,
                           int* exit_code);

}  // namespace csi_proxy
