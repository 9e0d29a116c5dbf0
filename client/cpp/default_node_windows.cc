#include "client/cpp/default_node.h"

namespace csi_proxy::client {

bool DefaultNodeIsSimulated() { return false; }

absl::StatusOr<std::shared_ptr<Node>> NewDefaultNode() { return Node::Windows(); }

}  // namespace csi_proxy::client
