// The simulated node of this process, on which every part of the double acts.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/machine/os.h"
#include "server/simulator/machine.h"
#include "server/simulator/wmi/session.h"

namespace csi_proxy::node_double {

struct SimulatedNode {
  std::unique_ptr<machine::simulator::Machine> node;
  // WMI and the Win32 interface of `node`.
  std::unique_ptr<machine::simulator::wmi::SimulatedSession> wmi;
  std::unique_ptr<machine::Os> os;
};

// Makes the node of `scenario_file`, or the built-in node if it is empty. REQUIRES: called once,
// before TheNode().
absl::Status BeginNode(const std::string& scenario_file);

// Returns the node, which lives until the process ends.
SimulatedNode& TheNode();

}  // namespace csi_proxy::node_double
