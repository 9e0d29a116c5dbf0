#include "server/base/win32.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace csi_proxy::win32 {
namespace {

absl::StatusCode CodeOf(DWORD code) {
  switch (code) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_SERVICE_DOES_NOT_EXIST:
    case ERROR_NOT_FOUND:
      return absl::StatusCode::kNotFound;
    case ERROR_ACCESS_DENIED:
    case ERROR_PRIVILEGE_NOT_HELD:
      return absl::StatusCode::kPermissionDenied;
    case ERROR_ALREADY_EXISTS:
    case ERROR_FILE_EXISTS:
    case ERROR_SERVICE_EXISTS:
      return absl::StatusCode::kAlreadyExists;
    case ERROR_INVALID_PARAMETER:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_PATHNAME:
      return absl::StatusCode::kInvalidArgument;
    case ERROR_PIPE_BUSY:
    case ERROR_BROKEN_PIPE:
    case ERROR_NO_DATA:
    case ERROR_PIPE_NOT_CONNECTED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_SERVICE_CANNOT_ACCEPT_CTRL:
      return absl::StatusCode::kUnavailable;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
    case ERROR_NO_SYSTEM_RESOURCES:
    case ERROR_DISK_FULL:
      return absl::StatusCode::kResourceExhausted;
    case ERROR_SEM_TIMEOUT:
    case WAIT_TIMEOUT:
      return absl::StatusCode::kDeadlineExceeded;
    case ERROR_OPERATION_ABORTED:
    case ERROR_CANCELLED:
      return absl::StatusCode::kCancelled;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

std::wstring Utf16(absl::string_view text) {
  std::wstring wide;
  if (text.empty()) return wide;
  const int length = static_cast<int>(text.size());
  wide.resize(
      static_cast<size_t>(MultiByteToWideChar(CP_UTF8, 0, text.data(), length, nullptr, 0)));
  MultiByteToWideChar(CP_UTF8, 0, text.data(), length, wide.data(), static_cast<int>(wide.size()));
  return wide;
}

std::string Utf8(std::wstring_view text) {
  std::string narrow;
  if (text.empty()) return narrow;
  const int length = static_cast<int>(text.size());
  narrow.resize(static_cast<size_t>(
      WideCharToMultiByte(CP_UTF8, 0, text.data(), length, nullptr, 0, nullptr, nullptr)));
  WideCharToMultiByte(CP_UTF8, 0, text.data(), length, narrow.data(),
                      static_cast<int>(narrow.size()), nullptr, nullptr);
  return narrow;
}

std::string ErrorText(DWORD code) {
  wchar_t* buffer = nullptr;
  const DWORD length = FormatMessageW(
      FORMAT_MESSAGE_ALLOCATE_BUFFER | FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS,
      nullptr, code, 0, reinterpret_cast<wchar_t*>(&buffer), 0, nullptr);
  const UniqueLocal owned(buffer);
  std::string text = length > 0 ? Utf8(std::wstring_view(buffer, length)) : "Windows error";
  while (!text.empty() &&
         (text.back() == '\n' || text.back() == '\r' || text.back() == '.' || text.back() == ' ')) {
    text.pop_back();
  }
  return absl::StrCat(text, " (", code, ")");
}

absl::Status ToStatus(DWORD code, absl::string_view what) {
  if (code == ERROR_SUCCESS) return absl::OkStatus();
  return absl::Status(CodeOf(code), absl::StrCat(what, ": ", ErrorText(code)));
}

absl::Status LastError(absl::string_view what) {
  const DWORD code = GetLastError();
  return ToStatus(code, what);
}

}  // namespace csi_proxy::win32
