#include <utility>

#include "client/cpp/default_node.h"

namespace csi_proxy::client {

absl::StatusOr<std::shared_ptr<Node>> NewDefaultNode(NodeOptions options) {
  return Node::Simulated(std::move(options));
}

}  // namespace csi_proxy::client
