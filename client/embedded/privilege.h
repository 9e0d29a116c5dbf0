// Whether this process has the rights that embedded mode needs.
#pragma once

#include "absl/status/status.h"

namespace csi_proxy::client {

// OK, or PERMISSION_DENIED and why not. Windows: the process runs as an administrator, as SYSTEM
// does. Elsewhere the node is simulated and everybody may.
absl::Status MayManageStorage();

}  // namespace csi_proxy::client
