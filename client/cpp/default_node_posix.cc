#include <utility>

#include "client/cpp/default_node.h"

namespace csi_proxy::client {

bool DefaultNodeIsSimulated() { return true; }

absl::StatusOr<std::shared_ptr<Node>> NewDefaultNode(NodeOptions options) {
  return Node::Simulated(std::move(options));
}

absl::Status MayEmbedUnasked() { return absl::OkStatus(); }

}  // namespace csi_proxy::client
