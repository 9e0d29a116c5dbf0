// Connects the process to what starts and stops it: signals of a terminal or container, or Windows'
// service control manager.
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

  // Reports that all pipes answer.
  virtual void ReportRunning() = 0;

  // Waits until the process must stop. Returns the cause, such as `SIGTERM` or `service stop`.
  virtual std::string AwaitStop() = 0;

  // Makes AwaitStop() return `reason`, because the process cannot go on. Thread-safe.
  virtual void RequestStop(std::string reason) = 0;

  // Reports that the stop has begun. Ends the process after `limit`, for example if a system call
  // does not return, or at once on a second request where that is customary (Ctrl-C).
  virtual void ReportStopping(absl::Duration limit) = 0;
};

// Exit codes of the program; under the service control manager, service-specific ones.
enum ExitCode {
  kExitOk = 0,
  kExitFailed = 1,
  kExitUsage = 2,
  // The stop was complete except for a call that did not return. The service control manager gets
  // success instead, so that it does not restart the service.
  kExitCallStuck = 3,
};

// Runs `body`, which starts the service, waits for the stop, stops and returns an ExitCode. Under
// the service control manager `body` runs on a separate thread, and its result is reported as the
// service-specific exit code. If `must_be_service` is true, returns FAILED_PRECONDITION, without
// running `body`, if the manager has not started the process, or does not exist.
absl::Status RunSupervised(bool must_be_service, const std::function<int(Supervisor&)>& body,
                           int* exit_code);

}  // namespace csi_proxy
