// The service control manager, as far as the installer needs it. A thin interface: tests record
// what is asked of it, because Wine ignores half of it without a word.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service_installer/service_config.h"

namespace csi_proxy::installer {

enum class ServiceState { kStopped, kStartPending, kStopPending, kRunning, kOther };

struct ServiceStatus {
  ServiceState state = ServiceState::kStopped;
  uint32_t process_id = 0;
  // Counts up while a pending service makes progress.
  uint32_t checkpoint = 0;
  // The reason of its end, 0 for none: a Win32 code, or with ERROR_SERVICE_SPECIFIC_ERROR (1066)
  // the program's own exit code.
  uint32_t exit_code = 0;
  uint32_t service_exit_code = 0;
};

// Every method names the service; NOT_FOUND when there is none, PERMISSION_DENIED for a caller who
// is not an administrator. Not thread-safe.
class ServiceManager {
 public:
  virtual ~ServiceManager() = default;

  virtual absl::StatusOr<ServiceStatus> Status(const std::string& name) = 0;
  // Returns its settings, those that this Windows cannot report from `otherwise`.
  virtual absl::StatusOr<ServiceConfig> Config(const std::string& name,
                                               const ServiceConfig& otherwise) = 0;

  // UNAVAILABLE while a service of that name waits to be deleted.
  virtual absl::Status Create(const std::string& name, const ServiceConfig& config) = 0;
  virtual absl::Status Change(const std::string& name, const ServiceConfig& config) = 0;
  virtual absl::Status Delete(const std::string& name) = 0;

  // These only ask; they succeed when the service is in that state already. Watch Status() for the
  // outcome. Stop() is UNAVAILABLE while the service does not accept it, as one that starts.
  virtual absl::Status Start(const std::string& name) = 0;
  virtual absl::Status Stop(const std::string& name) = 0;

  // Ends the service's process at once. FAILED_PRECONDITION when the process of that number does
  // not run `program`. The manager takes it for a failure of the service, and restarts that unless
  // the restart is suspended.
  virtual absl::Status Terminate(const std::string& name, uint32_t process_id,
                                 const std::string& program) = 0;
  // Takes the service's failure actions away, and gives them back.
  virtual absl::Status SuspendRestart(const std::string& name) = 0;
  virtual absl::Status ResumeRestart(const std::string& name) = 0;

  // A source of the Application event log: where the texts of its entries are found. Without it the
  // event viewer says that their description cannot be found.
  virtual absl::StatusOr<bool> HasEventSource(const std::string& source) = 0;
  virtual absl::Status RegisterEventSource(const std::string& source) = 0;
  virtual absl::Status RemoveEventSource(const std::string& source) = 0;
};

// Settings that the system refused though the service itself was made or changed; empty when all
// were taken. (Wine refuses several.)
using Refused = std::vector<std::string>;

// This machine's. PERMISSION_DENIED without administrator's rights.
absl::StatusOr<std::unique_ptr<ServiceManager>> OpenServiceManager(Refused* refused);

}  // namespace csi_proxy::installer
