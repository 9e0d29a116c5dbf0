#include "client/c/simulation.h"

#include <utility>

#include "client/cpp/simulated_node.h"
#include "server/simulator/admin_methods.h"

namespace csi_proxy::c {

absl::StatusOr<OpenedNode> OpenSimulation(NodeOptions options, absl::string_view scenario) {
  absl::StatusOr<client::NodeAndMachine> opened =
      client::OpenSimulatedNode(std::move(options), scenario);
  if (!opened.ok()) return opened.status();
  return OpenedNode{
      std::move(opened->node),
      [machine = std::move(opened->machine)](absl::string_view method, const std::string& request) {
        return machine::simulated::CallAdmin(*machine, method, request);
      }};
}

}  // namespace csi_proxy::c
