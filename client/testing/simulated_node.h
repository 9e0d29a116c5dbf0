// A simulated node with its machine. Programs that call this contain the simulator.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/node.h"
#include "server/simulator/machine.h"

namespace csi_proxy::client {

struct NodeAndMachine {
  std::shared_ptr<Node> node;
  // The simulated machine of the node, for calls of the admin service.
  std::shared_ptr<machine::simulator::Machine> machine;
};

// Opens a node as Node::Simulated() does.
absl::StatusOr<NodeAndMachine> OpenSimulatedNode(NodeOptions options, absl::string_view scenario);

}  // namespace csi_proxy::client
