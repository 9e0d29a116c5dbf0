// The simulated node of this process, which all of the double acts on.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/machine/os.h"
#include "server/simulator/machine.h"
#include "server/simulator/wmi/session.h"

namespace csi_proxy::node_double {

struct SimulatedNode {
  std::unique_ptr<machine::simulated::Machine> node;
  // Over the node.
  std::unique_ptr<machine::simulated::wmi::SimulatedSession> wmi;
  std::unique_ptr<machine::Os> os;
};

// Makes it, once, of the scenario in a file of that name, or of the built-in one. Must be called
// before TheNode().
absl::Status BeginNode(const std::string& scenario_file);

// Lasts as long as the process.
SimulatedNode& TheNode();

}  // namespace csi_proxy::node_double
