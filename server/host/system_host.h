// What a node must be able to say about itself and do with its services.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"

namespace csi_proxy::host {

// With the numbers of SERVICE_STATUS.dwCurrentState.
enum class ServiceState {
  kUnknown = 0,
  kStopped = 1,
  kStartPending = 2,
  kStopPending = 3,
  kRunning = 4,
  kContinuePending = 5,
  kPausePending = 6,
  kPaused = 7,
};

// With the numbers of QUERY_SERVICE_CONFIG.dwStartType.
enum class ServiceStartType { kBoot = 0, kSystem = 1, kAutomatic = 2, kManual = 3, kDisabled = 4 };

struct ServiceInfo {
  std::string display_name;
  ServiceStartType start_type = ServiceStartType::kManual;
  ServiceState state = ServiceState::kUnknown;
};

// Thread-safe. A service name is compared without case; one the node does not have is NOT_FOUND.
class SystemHost {
 public:
  virtual ~SystemHost() = default;

  virtual absl::StatusOr<std::string> GetBiosSerialNumber(const CallContext& context) = 0;

  virtual absl::StatusOr<ServiceInfo> GetService(const CallContext& context,
                                                 const std::string& name) = 0;

  // The names of services that depend on this one, directly or not, and are not stopped; in the
  // order in which they can be stopped.
  virtual absl::StatusOr<std::vector<std::string>> ListActiveDependents(
      const CallContext& context, const std::string& name) = 0;

  // Asks it to start and does not wait. ALREADY_EXISTS when it is running or about to;
  // FAILED_PRECONDITION when it is disabled.
  virtual absl::Status RequestStart(const CallContext& context, const std::string& name) = 0;

  // Asks it to stop and does not wait. FAILED_PRECONDITION when active services depend on it or it
  // does not take a stop now; NOT_FOUND as above; no change when stopped.
  virtual absl::Status RequestStop(const CallContext& context, const std::string& name) = 0;
};

}  // namespace csi_proxy::host
