// Puts the administrator's entries into a node's trees. Nothing here locks, waits or checks a call.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "server/base/windows_path.h"
#include "server/simulator/state.h"

namespace csi_proxy::machine::simulated {

// Makes a directory and the missing ones above it. ALREADY_EXISTS when a file, or a link that leads
// nowhere, is in the way; NOT_FOUND when there is no such drive.
absl::Status MakeEntryDirectories(NodeState& state, const WindowsPath& path);

// Makes a link with this target, whatever is there, in an existing directory. ALREADY_EXISTS.
absl::Status MakeLinkEntry(NodeState& state, const std::string& target, const WindowsPath& link,
                           bool junction = false);

// Makes a file, or changes one, in an existing directory.
absl::Status WriteFileEntry(NodeState& state, const WindowsPath& path, uint64_t size_bytes,
                            bool read_only);

// Removes a link, a mounted folder, or a directory with nothing in it, as RemoveDirectoryW does.
// NOT_FOUND.
absl::Status RemoveFolderEntry(NodeState& state, const WindowsPath& path);

}  // namespace csi_proxy::machine::simulated
