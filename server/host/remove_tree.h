// Removes the content of a directory, by handle.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "csi_proxy/call_context.h"
#include "server/host/deps.h"

namespace csi_proxy::host {

// Removes everything in `directory`, which stays, at any depth. Removes links and mount points
// themselves and leaves their targets alone; enters all other directories, even reparse points.
// Ignores entries that other programs remove, and removes those that they add; FAILED_PRECONDITION
// if they keep adding. REQUIRES: `path` names the directory while it is open.
absl::Status RemoveBelow(const Deps& deps, const CallContext& context, machine::File& directory,
                         const std::string& path);

}  // namespace csi_proxy::host
