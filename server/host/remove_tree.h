// Removes the content of a directory, by handle.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "csi_proxy/call_context.h"
#include "server/machine/os.h"

namespace csi_proxy::host {

// Removes everything in `directory`, which stays, as deep as it goes. Links and the mount points of
// volumes are removed themselves; their targets are not touched. Entries that others remove
// meanwhile are no error; entries that others add meanwhile are removed too, within limits:
// FAILED_PRECONDITION when they go on adding. `path` names the directory while it is open.
absl::Status RemoveBelow(machine::Os& os, const CallContext& context, machine::File& directory,
                         const std::string& path);

}  // namespace csi_proxy::host
