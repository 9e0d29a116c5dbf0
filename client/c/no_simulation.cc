#include "client/c/open_node.h"

namespace csi_proxy::c {

absl::StatusOr<OpenedNode> OpenSimulation(NodeOptions, absl::string_view) {
  return absl::UnimplementedError(
      "node: this library holds no simulated node; csi_proxy_simulated.dll is the one that does");
}

}  // namespace csi_proxy::c
