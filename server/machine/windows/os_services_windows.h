// The services of Os, by the service control manager. See os.h.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/machine/os.h"

namespace csi_proxy::machine::services {

absl::StatusOr<ServiceInfo> Get(const std::string& name);
absl::StatusOr<std::vector<std::string>> ListActiveDependents(const std::string& name);
absl::Status Start(const std::string& name);
absl::Status Stop(const std::string& name);

}  // namespace csi_proxy::machine::services
