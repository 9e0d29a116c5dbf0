// The facts of a node about itself, and the operations on its services.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "server/machine/os.h"

namespace csi_proxy::host {

using machine::ServiceInfo;
using machine::ServiceStartType;
using machine::ServiceState;

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
