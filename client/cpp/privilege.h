// Tells whether embedded mode would manage the node's storage, and has the rights for it.
#pragma once

#include "absl/status/status.h"

namespace csi_proxy::client {

// Decides for kAuto. PERMISSION_DENIED unless the process runs as an administrator, as SYSTEM does;
// FAILED_PRECONDITION when it runs in an ordinary container, or may do so. Elsewhere than on
// Windows the node is simulated and everybody may.
absl::Status MayEmbedUnasked();

}  // namespace csi_proxy::client
