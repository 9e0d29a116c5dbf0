// The node of clients that do not name one, and the rights needed for it.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "csi_proxy/node.h"

namespace csi_proxy::client {

// Returns true on all systems except Windows.
bool DefaultNodeIsSimulated();

// Opens this machine on Windows, and a simulated node elsewhere.
absl::StatusOr<std::shared_ptr<Node>> NewDefaultNode();

// Returns OK if kAuto may choose embedded mode. PERMISSION_DENIED unless the process runs as SYSTEM
// or as an elevated administrator; FAILED_PRECONDITION if it runs, or may run, in an
// ordinary container. Always OK if the node is simulated.
absl::Status MayEmbedUnasked();

}  // namespace csi_proxy::client
