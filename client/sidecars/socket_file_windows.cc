#include "client/sidecars/socket_file_windows.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "client/sidecars/socket.h"
#include "server/base/status_macros.h"
#include "server/base/token_windows.h"
#include "server/base/win32_error.h"
#include "server/rpc/pipe/pipe.h"

namespace csi_proxy::sidecars {
namespace {

// https://learn.microsoft.com/openspecs/windows_protocols/ms-fscc/c8e77b37-3909-4fe6-a4ea-2b9d423b1ee4
constexpr DWORD kSocketTag = 0x80000023;

// FileDispositionInfoEx; mingw-w64 has it for later versions of Windows only.
constexpr auto kFileDispositionInfoEx = static_cast<FILE_INFO_BY_HANDLE_CLASS>(21);

// The file itself, and not what it might lead to.
absl::StatusOr<win32::UniqueHandle> OpenFile(const std::string& path, DWORD access) {
  win32::UniqueHandle file(CreateFileW(
      win32::Utf16(path).c_str(), access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
      nullptr, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS, nullptr));
  if (!file.valid()) return win32::LastError(path);
  return file;
}

absl::Status CheckSocket(HANDLE file, const std::string& path) {
  FILE_ATTRIBUTE_TAG_INFO info;
  if (!GetFileInformationByHandleEx(file, FileAttributeTagInfo, &info, sizeof(info))) {
    return win32::LastError(path);
  }
  if ((info.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 && info.ReparseTag == kSocketTag) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(path, " is there and is not a socket"));
}

absl::StatusOr<FILE_ID_INFO> IdOf(HANDLE file, const std::string& path) {
  FILE_ID_INFO id;
  if (!GetFileInformationByHandleEx(file, FileIdInfo, &id, sizeof(id))) {
    return win32::LastError(path);
  }
  return id;
}

bool Same(const FILE_ID_INFO& a, const FILE_ID_INFO& b) {
  return a.VolumeSerialNumber == b.VolumeSerialNumber &&
         std::memcmp(&a.FileId, &b.FileId, sizeof(a.FileId)) == 0;
}

// The name goes at once, even if others have the file open, where the file system can do that
// (https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddk/ns-ntddk-_file_disposition_information_ex).
absl::Status Delete(HANDLE file, const std::string& path) {
  FILE_DISPOSITION_INFO_EX at_once{.Flags = FILE_DISPOSITION_FLAG_DELETE |
                                            FILE_DISPOSITION_FLAG_POSIX_SEMANTICS};
  if (SetFileInformationByHandle(file, kFileDispositionInfoEx, &at_once, sizeof(at_once))) {
    return absl::OkStatus();
  }
  FILE_DISPOSITION_INFO plain{.DeleteFile = TRUE};
  if (SetFileInformationByHandle(file, FileDispositionInfo, &plain, sizeof(plain))) {
    return absl::OkStatus();
  }
  return win32::LastError(path);
}

absl::Status SetOwnDacl(HANDLE file, const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(const std::string self, win32::UserOfThisProcess());
  ABSL_ASSIGN_OR_RETURN(
      const pipe::Security security,
      pipe::Security::Parse(absl::StrCat("D:P(A;;FA;;;SY)(A;;FA;;;BA)(A;;FA;;;", self, ")")));
  // SetSecurityInfo, which is meant for files, may add what the directory would let in: Wine's
  // does.
  if (!SetKernelObjectSecurity(file,
                               DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION,
                               security.attributes().lpSecurityDescriptor)) {
    return win32::LastError(absl::StrCat(path, ": changing its access list"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> SocketExists(const std::string& path) {
  const absl::StatusOr<win32::UniqueHandle> file = OpenFile(path, FILE_READ_ATTRIBUTES);
  if (IsNotThere(file.status())) return false;
  if (!file.ok()) return file.status();
  ABSL_RETURN_IF_ERROR(CheckSocket(file->get(), path));
  return true;
}

absl::Status RemoveSocket(const std::string& path) {
  const absl::StatusOr<win32::UniqueHandle> file = OpenFile(path, DELETE | FILE_READ_ATTRIBUTES);
  if (IsNotThere(file.status())) return absl::OkStatus();
  if (!file.ok()) return file.status();
  // Check and removal go by one handle, so the checked file is the one removed.
  ABSL_RETURN_IF_ERROR(CheckSocket(file->get(), path));
  return Delete(file->get(), path);
}

absl::StatusOr<SocketFile> SocketFile::Protect(std::string path) {
  // Rights that it gets even if others have the file open.
  ABSL_ASSIGN_OR_RETURN(const win32::UniqueHandle file,
                        OpenFile(path, READ_CONTROL | WRITE_DAC | FILE_READ_ATTRIBUTES));
  ABSL_ASSIGN_OR_RETURN(const FILE_ID_INFO id, IdOf(file.get(), path));
  SocketFile made(path, id);
  absl::Status done = SetOwnDacl(file.get(), path);
  if (!done.ok()) {
    made.Remove().IgnoreError();
    return done;
  }
  return made;
}

bool SocketFile::in_place() const {
  const absl::StatusOr<win32::UniqueHandle> file = OpenFile(path_, FILE_READ_ATTRIBUTES);
  if (!file.ok()) return false;
  const absl::StatusOr<FILE_ID_INFO> found = IdOf(file->get(), path_);
  return found.ok() && Same(*found, id_);
}

absl::Status SocketFile::Remove() const {
  const absl::StatusOr<win32::UniqueHandle> file = OpenFile(path_, DELETE | FILE_READ_ATTRIBUTES);
  if (IsNotThere(file.status())) return absl::OkStatus();
  if (!file.ok()) return file.status();
  ABSL_ASSIGN_OR_RETURN(const FILE_ID_INFO found, IdOf(file->get(), path_));
  return Same(found, id_) ? Delete(file->get(), path_) : absl::OkStatus();
}

}  // namespace csi_proxy::sidecars
