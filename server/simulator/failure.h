// The errors of the simulated machine's operations, in the words of a Windows node.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace csi_proxy::machine::simulator {

// A code of winerror.h or of the Storage Management API, with its text.
struct WindowsError {
  uint32_t code = 0;
  std::string text;
  friend bool operator==(const WindowsError&, const WindowsError&) = default;
};

// Returns the error with its usual text, or a generic text for a code unknown to the simulation.
WindowsError KnownError(uint32_t code);

// Returns the failure of `operation` (a verb phrase, such as `formatting volume ...`), worded
// `<operation> failed: <text> (error 0x...)`. `code` is INTERNAL unless the interfaces name another
// code for the failure. Win32CodeOf() returns the error's code, but nullopt for 0.
absl::Status Failure(absl::string_view operation, const WindowsError& error,
                     absl::StatusCode code = absl::StatusCode::kInternal);
absl::Status Failure(absl::string_view operation, uint32_t error,
                     absl::StatusCode code = absl::StatusCode::kInternal);

// Codes of the Storage Management API; the Win32 codes are in server/names/win32_error.h.
inline constexpr uint32_t kStorageSizeNotSupported = 4097;
inline constexpr uint32_t kStorageNotInitialized = 41000;
inline constexpr uint32_t kStorageAlreadyInitialized = 41001;
inline constexpr uint32_t kStorageDiskReadOnly = 41002;
inline constexpr uint32_t kStorageDiskOffline = 41003;
inline constexpr uint32_t kStoragePartitionLimit = 41004;
inline constexpr uint32_t kStorageCriticalDisk = 41009;
inline constexpr uint32_t kStorageDiskTooSmall = 41014;
inline constexpr uint32_t kStorageUnknownFileSystem = 42009;
inline constexpr uint32_t kStorageSystemPartition = 42010;
inline constexpr uint32_t kStorageBadClusterSize = 43000;
inline constexpr uint32_t kStorageClusterBelowSector = 43005;
inline constexpr uint32_t kStorageFileSystemNotSupported = 43001;

}  // namespace csi_proxy::machine::simulator
