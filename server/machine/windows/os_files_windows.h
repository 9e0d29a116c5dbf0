// Implements File with NT's own calls, because only these open an entry relative to a directory's
// handle. Only *_windows.cc files and their tests may include this header.
#pragma once

#include "server/platform/win32.h"
// Must follow windows.h.
#include <winternl.h>
// Macros of windows.h that would rename methods of os.h.
#undef CreateDirectory
#undef StartService

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/machine/access.h"
#include "server/machine/os.h"

namespace csi_proxy::machine {

// The arguments of NtCreateFile except the name
// (learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/nf-ntifs-ntcreatefile).
struct OpenRequest {
  ACCESS_MASK access = 0;
  // OBJECT_ATTRIBUTES.Attributes.
  ULONG attributes = 0;
  ULONG share = 0;
  ULONG disposition = 0;
  ULONG options = 0;
};

// The options of every request: open the entry itself, for synchronous calls.
// FILE_OPEN_FOR_BACKUP_INTENT opens files and directories alike. With the privileges of NewOs(), it
// also overrides their access lists. FILE_COMPLETE_IF_OPLOCKED lets us fail with a sharing
// violation; otherwise the open would wait for the holder of an oplock, perhaps a pod's process,
// without limit (learn.microsoft.com/windows-hardware/drivers/ifs/irp-mj-create2).
inline constexpr ULONG kOptions = FILE_OPEN_REPARSE_POINT | FILE_SYNCHRONOUS_IO_NONALERT |
                                  FILE_OPEN_FOR_BACKUP_INTENT | FILE_COMPLETE_IF_OPLOCKED;

// Returns the request that opens an entry below an open directory. OBJ_DONT_REPARSE refuses a path
// with a link before its last component. If the last component is a link, the link itself is opened
// (learn.microsoft.com/windows/win32/api/ntdef/ns-ntdef-_object_attributes; doubt 75 of
// server/host/doubts.md).
constexpr OpenRequest EntryRequest(Access access) {
  return {.access = AccessMask(access),
          .attributes = OBJ_CASE_INSENSITIVE | OBJ_DONT_REPARSE,
          .share = ShareOf(access),
          .disposition = FILE_OPEN,
          .options = kOptions};
}

// Returns the request that creates a directory.
constexpr OpenRequest NewDirectoryRequest() {
  OpenRequest request = EntryRequest(Access::kWriteAttributes);
  request.disposition = FILE_CREATE;
  request.options |= FILE_DIRECTORY_FILE;
  return request;
}

// Returns the request that opens the root of a drive or volume. The open follows links, because
// these names are links of the object manager.
constexpr OpenRequest RootRequest() {
  OpenRequest request = EntryRequest(Access::kRead);
  request.attributes = OBJ_CASE_INSENSITIVE;
  request.options |= FILE_DIRECTORY_FILE;
  return request;
}

// The flags of a deletion that removes an entry's name when our handle closes, even if more handles
// are open or the entry is read-only
// (learn.microsoft.com/windows-hardware/drivers/ddi/ntddk/ns-ntddk-_file_disposition_information_ex).
inline constexpr DWORD kDeleteFlags = FILE_DISPOSITION_FLAG_DELETE |
                                      FILE_DISPOSITION_FLAG_POSIX_SEMANTICS |
                                      FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE;

// Implements Os::OpenRoot().
absl::StatusOr<std::unique_ptr<File>> OpenRootDirectory(const std::string& root);

// Returns the Win32 error for a failure of NtCreateFile. STATUS_DELETE_PENDING becomes
// ERROR_DELETE_PENDING, not the ERROR_ACCESS_DENIED of RtlNtStatusToDosError().
DWORD OpenError(NTSTATUS status);

// Deletes an entry on file systems that do not support kDeleteFlags: clears the read-only
// attribute, and sets it again if the deletion fails. REQUIRES: `file` is open with kDelete.
absl::Status DeletePlainly(HANDLE file);

// Sends one control code. Returns the answer. If it exceeds `max_output` bytes, the driver chooses:
// an error such as ERROR_MORE_DATA, or the beginning of the answer.
absl::StatusOr<Bytes> SendControl(HANDLE device, uint32_t code, const Bytes& input,
                                  size_t max_output);

}  // namespace csi_proxy::machine
