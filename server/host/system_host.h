// The serial number of a node's BIOS, and the operations on the node's services.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "server/host/host_deps.h"
#include "server/machine/os.h"

namespace csi_proxy::host {

using machine::ServiceInfo;
using machine::ServiceStartType;
using machine::ServiceState;

// Thread-safe. Compares service names case-insensitively. NOT_FOUND if there is no such service.
class SystemHost {
 public:
  explicit SystemHost(const HostDeps& deps) : os_(*deps.os) {}

  absl::StatusOr<std::string> GetBiosSerialNumber(const CallContext& context);

  absl::StatusOr<ServiceInfo> GetService(const CallContext& context, const std::string& name);

  // Returns the names of the services that depend on the service `name`, directly or indirectly,
  // and are not stopped, in an order in which they can be stopped.
  absl::StatusOr<std::vector<std::string>> ListActiveDependents(const CallContext& context,
                                                                const std::string& name);

  // Starts a service without waiting for it. ALREADY_EXISTS if the service is running or starting,
  // FAILED_PRECONDITION if it is disabled.
  absl::Status RequestStart(const CallContext& context, const std::string& name);

  // Stops a service without waiting for it. OK if the service is stopped or stopping.
  // FAILED_PRECONDITION if active services depend on it or if it does not accept a stop now.
  absl::Status RequestStop(const CallContext& context, const std::string& name);

 private:
  machine::Os& os_;
};

}  // namespace csi_proxy::host
