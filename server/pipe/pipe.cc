#include "server/pipe/pipe.h"

#include <sddl.h>

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "csi_proxy/steady_time.h"
#include "server/base/back_off.h"
#include "server/base/status_macros.h"
#include "server/platform/token_windows.h"

namespace csi_proxy::pipe {
namespace {

// The pause between attempts to open a pipe while all its instances are taken. The server keeps
// making new instances; go-winio tries every 10 ms.
constexpr absl::Duration kFirstPause = absl::Milliseconds(10),
                         kLongestPause = absl::Milliseconds(50);

// Opens the pipe with generic write access and with generic read access. Generic read access
// includes READ_CONTROL for reading the pipe's owner
// (https://learn.microsoft.com/windows/win32/ipc/named-pipe-security-and-access-rights).
win32::UniqueHandle OpenOnce(const std::wstring& path) {
  return win32::UniqueHandle(
      CreateFileW(path.c_str(), GENERIC_READ | GENERIC_WRITE, 0, nullptr, OPEN_EXISTING,
                  FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION, nullptr));
}

}  // namespace

std::string Path(absl::string_view name) { return absl::StrCat(R"(\\.\pipe\)", name); }

absl::StatusOr<Security> Security::Parse(const std::string& sddl) {
  PSECURITY_DESCRIPTOR descriptor = nullptr;
  if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(
          win32::Utf16(sddl).c_str(), SDDL_REVISION_1, &descriptor, nullptr)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--pipe-sddl: \"", sddl, "\" is not valid SDDL: ", win32::ErrorText(GetLastError())));
  }
  win32::UniqueLocal owned(descriptor);
  SECURITY_DESCRIPTOR_CONTROL control = 0;
  DWORD revision = 0;
  BOOL present = FALSE, defaulted = FALSE;
  ACL* dacl = nullptr;
  if (!GetSecurityDescriptorControl(descriptor, &control, &revision) ||
      !GetSecurityDescriptorDacl(descriptor, &present, &dacl, &defaulted)) {
    return win32::LastError("--pipe-sddl");
  }
  if (!present || dacl == nullptr || (control & SE_DACL_PROTECTED) == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--pipe-sddl: \"", sddl, "\" has no protected DACL (D:P...): anyone could open the pipes"));
  }
  return Security(std::move(owned));
}

absl::StatusOr<Security> Security::ForServer(const std::string& sddl) {
  ABSL_ASSIGN_OR_RETURN(const Security asked, Parse(sddl));
  ABSL_ASSIGN_OR_RETURN(const std::string own, win32::UserOfThisProcess());
  PSID owner = nullptr;
  BOOL defaulted = FALSE;
  if (!GetSecurityDescriptorOwner(asked.descriptor_.get(), &owner, &defaulted)) {
    return win32::LastError("--pipe-sddl");
  }
  return Parse(SddlForServer(sddl, owner != nullptr, own));
}

bool Exists(const std::string& path) {
  if (OpenOnce(win32::Utf16(path)).valid()) return true;
  // Any other error counts as a pipe: all instances are busy, or this process may not open it.
  const DWORD error = GetLastError();
  return error != ERROR_FILE_NOT_FOUND && error != ERROR_PATH_NOT_FOUND;
}

absl::StatusOr<win32::UniqueHandle> Open(const std::string& path, SteadyTime deadline) {
  const std::wstring wide = win32::Utf16(path);
  BackOff back_off(kFirstPause, kLongestPause);
  while (true) {
    win32::UniqueHandle pipe = OpenOnce(wide);
    if (pipe.valid()) return pipe;
    const DWORD error = GetLastError();
    const absl::Duration left = deadline - SteadyTime::Now();
    if (error != ERROR_PIPE_BUSY || left <= absl::ZeroDuration()) {
      return win32::ToStatus(error, path);
    }
    absl::SleepFor(std::min(back_off.Failed(), left));
  }
}

int64_t ClientOfInstance(HANDLE instance) {
  ULONG process_id = 0;
  return GetNamedPipeClientProcessId(instance, &process_id) ? int64_t{process_id} : 0;
}

absl::StatusOr<std::unique_ptr<PipeStream>> PipeStream::Create(win32::UniqueHandle client) {
  const HANDLE handle = client.get();
  ABSL_RETURN_IF_ERROR(IoPort::Get().Associate(handle));
  return std::unique_ptr<PipeStream>(new PipeStream(handle, std::move(client), nullptr));
}

absl::StatusOr<std::unique_ptr<PipeStream>> PipeStream::Create(std::shared_ptr<ServerEnd> server) {
  const HANDLE handle = server->handle();
  ABSL_RETURN_IF_ERROR(IoPort::Get().Associate(handle));
  return std::unique_ptr<PipeStream>(
      new PipeStream(handle, win32::UniqueHandle(), std::move(server)));
}

bool PipeStream::Connect(Done done, void* argument, Result* result) {
  inward_.Begin(done, argument);
  if (ConnectNamedPipe(handle_, &inward_)) {
    *result = {};
    return true;
  }
  const DWORD error = GetLastError();
  if (error == ERROR_IO_PENDING) return false;
  // ERROR_PIPE_CONNECTED: a client connected before this call
  // (https://learn.microsoft.com/windows/win32/api/namedpipeapi/nf-namedpipeapi-connectnamedpipe).
  *result = {.error = error == ERROR_PIPE_CONNECTED ? DWORD{ERROR_SUCCESS} : error};
  return true;
}

bool PipeStream::CompletedSynchronously(BOOL ok, Operation* operation, Result* result) {
  if (!ok) {
    const DWORD error = GetLastError();
    if (error == ERROR_IO_PENDING) return false;
    *result = {.error = error};
    return true;
  }
  *result = {};
  // The out parameter of an overlapped ReadFile may be wrong, so GetOverlappedResult() reads the
  // number of bytes (https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-readfile).
  GetOverlappedResult(handle_, operation, &result->bytes, FALSE);
  return true;
}

bool PipeStream::Read(void* buffer, DWORD size, Done done, void* argument, Result* result) {
  inward_.Begin(done, argument);
  return CompletedSynchronously(ReadFile(handle_, buffer, size, nullptr, &inward_), &inward_,
                                result);
}

bool PipeStream::Write(const void* data, DWORD size, Done done, void* argument, Result* result) {
  outward_.Begin(done, argument);
  return CompletedSynchronously(WriteFile(handle_, data, size, nullptr, &outward_), &outward_,
                                result);
}

}  // namespace csi_proxy::pipe
