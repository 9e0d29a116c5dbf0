// Files by the calls of NT itself, which alone open an entry relative to the handle of the
// directory that holds it. Included by *_windows.cc files and their tests alone.
#pragma once

#include "server/base/win32.h"
// Needs the definitions above.
#include <winternl.h>
// Names of os.h that would be those of other functions.
#undef CreateDirectory
#undef StartService

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/machine/access.h"
#include "server/machine/os.h"

namespace csi_proxy::machine {

// All that NtCreateFile is told besides the name
// (learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/nf-ntifs-ntcreatefile).
struct OpenRequest {
  ACCESS_MASK access = 0;
  // The attributes of OBJECT_ATTRIBUTES.
  ULONG attributes = 0;
  ULONG share = 0;
  ULONG disposition = 0;
  ULONG options = 0;
};

// The entry itself, whatever it is, for calls that wait. Backup intent opens directories as well as
// files and, with the privileges of NewOs(), whatever their owner made of their access lists. An
// open that breaks an oplock would wait for the holder for as long as he likes, a pod's process
// perhaps (learn.microsoft.com/windows-hardware/drivers/ifs/irp-mj-create2); one that completes
// nevertheless lets us call it a sharing violation.
inline constexpr ULONG kOptions = FILE_OPEN_REPARSE_POINT | FILE_SYNCHRONOUS_IO_NONALERT |
                                  FILE_OPEN_FOR_BACKUP_INTENT | FILE_COMPLETE_IF_OPLOCKED;

// An entry of an open directory or further below. The last component is opened as itself, and
// OBJ_DONT_REPARSE refuses a link before it (learn.microsoft.com/windows/win32/api/ntdef/
// ns-ntdef-_object_attributes; doubt 75 of server/host/doubts.md).
constexpr OpenRequest EntryRequest(Access access) {
  return {.access = AccessMask(access),
          .attributes = OBJ_CASE_INSENSITIVE | OBJ_DONT_REPARSE,
          .share = ShareOf(access),
          .disposition = FILE_OPEN,
          .options = kOptions};
}

// A directory that is not there yet.
constexpr OpenRequest NewDirectoryRequest() {
  OpenRequest request = EntryRequest(Access::kWriteAttributes);
  request.disposition = FILE_CREATE;
  request.options |= FILE_DIRECTORY_FILE;
  return request;
}

// The root of a drive or volume, whose names are links of the object manager's and have to be
// followed.
constexpr OpenRequest RootRequest() {
  OpenRequest request = EntryRequest(Access::kRead);
  request.attributes = OBJ_CASE_INSENSITIVE;
  request.options |= FILE_DIRECTORY_FILE;
  return request;
}

// The way in which an entry is deleted: its name is gone when our handle closes, even if others
// have it open, and read-only does not prevent it
// (learn.microsoft.com/windows-hardware/drivers/ddi/ntddk/ns-ntddk-_file_disposition_information_ex).
inline constexpr DWORD kDeleteFlags = FILE_DISPOSITION_FLAG_DELETE |
                                      FILE_DISPOSITION_FLAG_POSIX_SEMANTICS |
                                      FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE;

// Os::OpenRoot.
absl::StatusOr<std::unique_ptr<File>> OpenRootDirectory(const std::string& root);

// The Win32 error for a status that NtCreateFile fails with. STATUS_DELETE_PENDING, which
// RtlNtStatusToDosError makes ERROR_ACCESS_DENIED, is not that: the entry is all but gone.
DWORD OpenError(NTSTATUS status);

// Deletes the entry of `file`, open with kDelete, on file systems that know none of the above:
// clears read-only and sets it again if the entry stays after all.
absl::Status DeletePlainly(HANDLE file);

// Sends one control code and returns the answer of at most `max_output` bytes.
absl::StatusOr<Bytes> SendControl(HANDLE device, uint32_t code, const Bytes& input,
                                  size_t max_output);

}  // namespace csi_proxy::machine
