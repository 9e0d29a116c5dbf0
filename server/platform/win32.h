// Helpers for calling Win32: owned handles, text in UTF-16, error codes as statuses. Only files
// that are built for Windows alone may include this header.
#pragma once

#include <windows.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace csi_proxy::win32 {

// Owns a handle and closes it with `Close`. Both 0 and INVALID_HANDLE_VALUE count as no handle,
// because Win32 uses either.
template <typename Handle, auto Close>
class Unique {
 public:
  Unique() = default;
  explicit Unique(Handle handle) : handle_(handle) {}
  Unique(Unique&& other) noexcept : handle_(std::exchange(other.handle_, Handle{})) {}
  Unique& operator=(Unique&& other) noexcept {
    Reset(std::exchange(other.handle_, Handle{}));
    return *this;
  }
  ~Unique() { Reset(); }

  bool valid() const { return handle_ != Handle{} && reinterpret_cast<intptr_t>(handle_) != -1; }
  Handle get() const { return handle_; }
  Handle Release() { return std::exchange(handle_, Handle{}); }
  void Reset(Handle handle = Handle{}) {
    if (valid()) Close(handle_);
    handle_ = handle;
  }

 private:
  Handle handle_{};
};

using UniqueHandle = Unique<HANDLE, &CloseHandle>;
using UniqueServiceHandle = Unique<SC_HANDLE, &CloseServiceHandle>;
using UniqueLocal = Unique<HLOCAL, &LocalFree>;

// Convert between UTF-8 and UTF-16. Malformed text becomes U+FFFD.
std::wstring Utf16(absl::string_view text);
std::string Utf8(std::wstring_view text);

// Returns Windows' text for an error code, and the number: `Access is denied (5)`.
std::string ErrorText(DWORD code);

// Returns Win32Status() with the message `what: ErrorText(code)`.
absl::Status ToStatus(DWORD code, absl::string_view what);

// Returns ToStatus() of GetLastError().
absl::Status LastError(absl::string_view what);

// Opens the file or directory at `path`. If the entry is a link, opens the link itself, not its
// target.
absl::StatusOr<UniqueHandle> OpenWithoutFollowing(const std::string& path, DWORD access);

// Deletes the file. If the file system supports POSIX semantics, the name disappears when `file` is
// closed, even while other processes have the file open
// (https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddk/ns-ntddk-_file_disposition_information_ex).
// REQUIRES: `file` was opened with DELETE. `path` is for the error.
absl::Status DeleteOpened(HANDLE file, const std::string& path);

}  // namespace csi_proxy::win32
