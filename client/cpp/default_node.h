// The node that clients act on when they name none, and the rights for it.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "csi_proxy/node.h"

namespace csi_proxy::client {

// Tells whether they act on a simulated node: everywhere but on Windows.
bool DefaultNodeIsSimulated();

// This machine on Windows, a simulated node elsewhere.
absl::StatusOr<std::shared_ptr<Node>> NewDefaultNode();

// OK when kAuto may embed. PERMISSION_DENIED unless the process runs as an administrator, as SYSTEM
// does; FAILED_PRECONDITION when it runs in an ordinary container, or may do so. Everybody may use
// a simulated node.
absl::Status MayEmbedUnasked();

}  // namespace csi_proxy::client
