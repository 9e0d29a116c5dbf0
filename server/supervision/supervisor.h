// Runs the process until a signal, the console or Windows' service control manager stops it.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace csi_proxy {

// All methods except RequestStop() must be called on one thread.
class Supervisor {
 public:
  virtual ~Supervisor() = default;

  // Returns true if Windows' service control manager has started the process.
  virtual bool IsServiceManager() const { return false; }

  // Reports that the start is complete: in csi-proxy, that all pipes answer.
  virtual void ReportRunning() = 0;

  // Waits until the process must stop. Returns the cause, such as `SIGTERM` or `service stop`.
  virtual std::string AwaitStop() = 0;

  // Makes AwaitStop() return `reason`, because the process cannot go on. Thread-safe.
  virtual void RequestStop(std::string reason) = 0;

  // Reports that the stop has begun. Ends the process if it still runs after `limit`, for example
  // because a system call does not return. A second Ctrl-C or signal ends the process immediately.
  virtual void ReportStopping(absl::Duration limit) = 0;
};

// Exit codes of the program; under the service control manager, its service-specific exit codes.
enum ExitCode {
  kExitOk = 0,
  kExitFailed = 1,
  kExitUsage = 2,
  // The stop exceeded its limit, for example because a call did not return. The service control
  // manager receives success instead, so that it does not restart the service.
  kExitCallStuck = 3,
};

// Runs `body`, which must start the service, wait for the stop, stop the service and return an
// ExitCode. Under the service control manager, runs `body` on a separate thread and reports the
// result of `body` as the service-specific exit code. Returns FAILED_PRECONDITION, without running
// `body`, if `must_be_service` is true and no service control manager has started the process.
absl::Status RunSupervised(bool must_be_service, const std::function<int(Supervisor&)>& body,
                           int* exit_code);

}  // namespace csi_proxy
