#include <utility>

#include "client/embedded/default_host.h"

namespace csi_proxy::client {

absl::StatusOr<std::shared_ptr<Node>> NewDefaultHost(NodeOptions options) {
  return Node::Simulated(std::move(options));
}

}  // namespace csi_proxy::client
