// The node that clients act on when they name none.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "csi_proxy/node.h"

namespace csi_proxy::client {

// Tells whether they act on a simulated node: everywhere but on Windows.
bool DefaultNodeIsSimulated();

// This machine on Windows, a simulated node elsewhere.
absl::StatusOr<std::shared_ptr<Node>> NewDefaultNode();

}  // namespace csi_proxy::client
