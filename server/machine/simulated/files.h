// What can be done to the entries of a node's trees. Nothing here locks, waits or checks a call;
// the filesystem host does. The contracts are those of FilesystemHost.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/host/filesystem_host.h"
#include "server/machine/simulated/resolver.h"
#include "server/machine/simulated/state.h"

namespace csi_proxy::machine::simulated {

absl::StatusOr<bool> EntryExists(NodeState& state, const ConfinedPath& path);
absl::Status MakeEntryDirectories(NodeState& state, const ConfinedPath& path);
absl::Status RemoveEntry(NodeState& state, const ConfinedPath& path, bool recursive);
absl::Status RemoveEntryContents(NodeState& state, const ConfinedPath& path);
absl::StatusOr<LinkInfo> DescribeLink(NodeState& state, const ConfinedPath& path);

// Makes a link with this target, whatever is there. A root itself is never replaced by a link:
// PERMISSION_DENIED.
absl::Status MakeLinkEntry(NodeState& state, const std::string& target, const ConfinedPath& link);

// Makes a file, or changes one, in an existing directory.
absl::Status WriteFileEntry(NodeState& state, const ConfinedPath& path, uint64_t size_bytes,
                            bool read_only);

}  // namespace csi_proxy::machine::simulated
