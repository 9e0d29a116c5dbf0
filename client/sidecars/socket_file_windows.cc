#include "absl/strings/str_cat.h"
#include "client/sidecars/socket.h"
#include "client/sidecars/socket_windows.h"
#include "server/base/status_macros.h"
#include "server/names/win32_error.h"
#include "server/pipe/pipe.h"
#include "server/platform/token_windows.h"
#include "server/platform/win32.h"

namespace csi_proxy::sidecars {
namespace {

// A socket's file is a reparse point, and can only be opened without following it
// (https://github.com/golang/go/issues/33357).
// https://learn.microsoft.com/openspecs/windows_protocols/ms-fscc/c8e77b37-3909-4fe6-a4ea-2b9d423b1ee4
constexpr DWORD kSocketTag = 0x80000023;

absl::Status CheckSocket(HANDLE file, const std::string& path) {
  FILE_ATTRIBUTE_TAG_INFO info;
  if (!GetFileInformationByHandleEx(file, FileAttributeTagInfo, &info, sizeof(info))) {
    return win32::LastError(path);
  }
  if ((info.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 && info.ReparseTag == kSocketTag) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(path, " exists and is not a socket"));
}

absl::Status SetOwnDacl(HANDLE file, const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(const std::string self, win32::UserOfThisProcess());
  ABSL_ASSIGN_OR_RETURN(
      const pipe::Security security,
      pipe::Security::Parse(absl::StrCat("D:P(A;;FA;;;SY)(A;;FA;;;BA)(A;;FA;;;", self, ")")));
  // SetSecurityInfo is not used: it may add the directory's inheritable entries, as Wine's does.
  if (!SetKernelObjectSecurity(file,
                               DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION,
                               security.attributes().lpSecurityDescriptor)) {
    return win32::LastError(absl::StrCat(path, ": changing its access list"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> SocketExists(const std::string& path) {
  const absl::StatusOr<win32::UniqueHandle> file =
      win32::OpenWithoutFollowing(path, FILE_READ_ATTRIBUTES);
  if (IsFileNotFound(file.status())) return false;
  if (!file.ok()) return file.status();
  ABSL_RETURN_IF_ERROR(CheckSocket(file->get(), path));
  return true;
}

absl::Status RemoveSocket(const std::string& path) {
  const absl::StatusOr<win32::UniqueHandle> file =
      win32::OpenWithoutFollowing(path, DELETE | FILE_READ_ATTRIBUTES);
  if (IsFileNotFound(file.status())) return absl::OkStatus();
  if (!file.ok()) return file.status();
  // Checks and deletes through one handle, so the path cannot change in between.
  ABSL_RETURN_IF_ERROR(CheckSocket(file->get(), path));
  return win32::DeleteOpened(file->get(), path);
}

absl::StatusOr<OwnFile> ProtectSocket(const std::string& path) {
  // Opens with only the rights that Windows grants while the socket is in use.
  ABSL_ASSIGN_OR_RETURN(
      const win32::UniqueHandle file,
      win32::OpenWithoutFollowing(path, READ_CONTROL | WRITE_DAC | FILE_READ_ATTRIBUTES));
  ABSL_ASSIGN_OR_RETURN(OwnFile made, OwnFile::Adopt(path, reinterpret_cast<intptr_t>(file.get())));
  absl::Status done = SetOwnDacl(file.get(), path);
  if (!done.ok()) {
    made.Remove().IgnoreError();
    return done;
  }
  return made;
}

}  // namespace csi_proxy::sidecars
