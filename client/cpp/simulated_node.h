// A simulated node with both its sides: a program that refers to it holds the simulator.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/node.h"
#include "server/simulator/machine.h"

namespace csi_proxy::client {

struct NodeAndMachine {
  std::shared_ptr<Node> node;
  // The administrator's side of the machine, on which the node acts.
  std::shared_ptr<machine::simulated::Machine> machine;
};

// As Node::Simulated().
absl::StatusOr<NodeAndMachine> OpenSimulatedNode(NodeOptions options, absl::string_view scenario);

}  // namespace csi_proxy::client
