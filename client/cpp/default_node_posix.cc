#include "client/cpp/default_node.h"

namespace csi_proxy::client {

bool DefaultNodeIsSimulated() { return true; }

absl::StatusOr<std::shared_ptr<Node>> NewDefaultNode() { return Node::Simulated(); }

absl::Status MayEmbedUnasked() { return absl::OkStatus(); }

}  // namespace csi_proxy::client
