// Creates, changes and removes entries of a node's trees for the administrator. Callers must hold
// the lock of Core, and must have checked the arguments.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "server/names/windows_path.h"
#include "server/simulator/state.h"

namespace csi_proxy::machine::simulator {

// Makes a directory and the missing ones above it. Returns ALREADY_EXISTS if a file or a dangling
// link is in the way, NOT_FOUND if the drive or a mounted volume is missing or not formatted.
absl::Status MakeEntryDirectories(NodeState& state, const WindowsPath& path);

// Makes a link with this target, even if the target does not exist. Returns ALREADY_EXISTS if the
// path exists, NOT_FOUND if its directory does not.
absl::Status MakeLinkEntry(NodeState& state, const std::string& target, const WindowsPath& link,
                           bool junction = false);

// Makes or changes a file. Returns ALREADY_EXISTS if the path is not a file, NOT_FOUND if its
// directory does not exist.
absl::Status WriteFileEntry(NodeState& state, const WindowsPath& path, uint64_t size_bytes,
                            bool read_only);

// Removes a link, a mounted folder, or an empty directory, as RemoveDirectoryW does. Returns
// NOT_FOUND if there is no such entry, INTERNAL if it cannot be removed.
absl::Status RemoveFolderEntry(NodeState& state, const WindowsPath& path);

}  // namespace csi_proxy::machine::simulator
