// The node of --host=simulated. A program links one of two libraries with these functions:
// csi_proxy_simulation, or csi_proxy_no_simulation, which the service that ships for Windows links
// and whose functions fail.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/node/opened_machine.h"
#include "server/service/versioned_services.h"

namespace csi_proxy {

struct Simulation {
  OpenedMachine machine;
  // The administrator's, served beside the released ones.
  std::vector<ExtraService> services;
};

// `scenario` is the value of --scenario, a name or a file; empty for the default node.
// INVALID_ARGUMENT or NOT_FOUND naming the flag.
absl::StatusOr<Simulation> OpenSimulation(const std::string& scenario);

// The text that --list-scenarios prints. INVALID_ARGUMENT naming the flag.
absl::StatusOr<std::string> ListScenarios();

}  // namespace csi_proxy
