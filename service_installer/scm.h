// The service control manager as the installer uses it. A thin interface, so that tests can record
// the calls; Wine silently ignores many of them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service_installer/service_config.h"

namespace csi_proxy::service_installer {

// The states have the order of winsvc.h, which begins with 1.
enum class ServiceState { kStopped, kStartPending, kStopPending, kRunning, kOther };

struct ServiceStatus {
  ServiceState state = ServiceState::kStopped;
  uint32_t process_id = 0;
  // Increases while a pending service makes progress.
  uint32_t checkpoint = 0;
  // Why the service ended: 0, or a Win32 code. If that is ERROR_SERVICE_SPECIFIC_ERROR (1066),
  // `service_exit_code` is the program's own exit code.
  uint32_t exit_code = 0;
  uint32_t service_exit_code = 0;
};

// `name` is the name of a service. Calls return NOT_FOUND if there is no such service, and
// FAILED_PRECONDITION if the caller is not an administrator. Not thread-safe.
class ServiceManager {
 public:
  virtual ~ServiceManager() = default;

  virtual absl::StatusOr<ServiceStatus> Status(const std::string& name) = 0;
  // Returns the service's settings. Settings that this Windows cannot report come from `otherwise`.
  virtual absl::StatusOr<ServiceConfig> Config(const std::string& name,
                                               const ServiceConfig& otherwise) = 0;

  // Creates a service. UNAVAILABLE while a service of that name waits to be deleted.
  virtual absl::Status Create(const std::string& name, const ServiceConfig& config) = 0;
  virtual absl::Status Change(const std::string& name, const ServiceConfig& config) = 0;
  virtual absl::Status Delete(const std::string& name) = 0;

  // Start() and Stop() only request a state; Status() shows the outcome. OK if the service has the
  // state already. Stop() returns UNAVAILABLE while a service accepts no stop, e.g. at its start.
  virtual absl::Status Start(const std::string& name) = 0;
  virtual absl::Status Stop(const std::string& name) = 0;

  // Ends the service's process immediately. `process_id` must come from Status().
  // FAILED_PRECONDITION if the process does not run `program`. The manager counts this as a failure
  // and restarts the service, except after SuspendRestart().
  virtual absl::Status Terminate(const std::string& name, uint32_t process_id,
                                 const std::string& program) = 0;
  // Remove and restore the failure actions of the service. If this object has removed none,
  // ResumeRestart() gives a service without failure actions those of ServiceConfig().
  virtual absl::Status SuspendRestart(const std::string& name) = 0;
  virtual absl::Status ResumeRestart(const std::string& name) = 0;

  // Look up, register and remove a source of the Application event log, which says where the texts
  // of its entries are. Without the source, the event viewer cannot find their descriptions.
  virtual absl::StatusOr<bool> HasEventSource(const std::string& source) = 0;
  virtual absl::Status RegisterEventSource(const std::string& source) = 0;
  virtual absl::Status RemoveEventSource(const std::string& source) = 0;

  // Read and replace the machine's PATH: folders with `;` between them, whose variables stay
  // unexpanded. Empty if the machine has none. A change affects console windows that are opened
  // later.
  virtual absl::StatusOr<std::string> MachinePath() = 0;
  virtual absl::Status SetMachinePath(const std::string& path) = 0;
};

// The settings that the system refused when a service was created or changed. Wine refuses several.
using Refused = std::vector<std::string>;

// Opens this machine's service manager. FAILED_PRECONDITION if the caller is not an administrator.
absl::StatusOr<std::unique_ptr<ServiceManager>> OpenServiceManager(Refused* refused);

}  // namespace csi_proxy::service_installer
