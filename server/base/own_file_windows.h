// Steps of own_file_windows.cc that other owners of files share.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/win32.h"

namespace csi_proxy::win32 {

// Opens the file or directory at `path`; a link itself, not its target.
absl::StatusOr<UniqueHandle> OpenWithoutFollowing(const std::string& path, DWORD access);

// Removes the file's name at once even if other processes have the file open, where the file system
// can
// (https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddk/ns-ntddk-_file_disposition_information_ex).
// REQUIRES: `file` was opened with DELETE. `path` is for the error.
absl::Status DeleteOpened(HANDLE file, const std::string& path);

}  // namespace csi_proxy::win32
