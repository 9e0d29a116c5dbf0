// Removes the content of a directory, by handle.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "csi_proxy/call_context.h"
#include "server/host/host_deps.h"

namespace csi_proxy::host {

// Removes all entries in `directory`, at any depth, but not `directory` itself. Removes links and
// mount points, but not their targets; enters any other directory, even a reparse point. Ignores
// entries that other programs remove, and removes entries that other programs add.
// FAILED_PRECONDITION if other programs keep adding entries to a subdirectory, or if the tree has
// more than 16,384 levels. REQUIRES: `path` names `directory` while it is open.
absl::Status RemoveBelow(const HostDeps& deps, const CallContext& context, machine::File& directory,
                         const std::string& path);

}  // namespace csi_proxy::host
