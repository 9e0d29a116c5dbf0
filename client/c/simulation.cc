#include <utility>

#include "client/c/open_node.h"
#include "client/cpp/simulated_node.h"
#include "server/base/status_macros.h"
#include "server/simulator/admin.h"

namespace csi_proxy::c {

absl::StatusOr<OpenedNode> OpenSimulation(NodeOptions options, absl::string_view scenario) {
  ABSL_ASSIGN_OR_RETURN(client::NodeAndMachine opened,
                        client::OpenSimulatedNode(std::move(options), scenario));
  return OpenedNode{
      std::move(opened.node),
      [machine = std::move(opened.machine)](absl::string_view method, const std::string& request) {
        return machine::simulator::CallAdmin(*machine, method, request);
      }};
}

}  // namespace csi_proxy::c
