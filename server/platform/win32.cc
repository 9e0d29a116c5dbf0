#include "server/platform/win32.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/names/win32_error.h"

namespace csi_proxy::win32 {
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
  return Win32Status(code, absl::StrCat(what, ": ", ErrorText(code)));
}

absl::Status LastError(absl::string_view what) {
  const DWORD code = GetLastError();
  return ToStatus(code, what);
}

absl::StatusOr<UniqueHandle> OpenWithoutFollowing(const std::string& path, DWORD access) {
  UniqueHandle file(CreateFileW(
      Utf16(path).c_str(), access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
      OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS, nullptr));
  if (!file.valid()) return LastError(path);
  return file;
}

absl::Status DeleteOpened(HANDLE file, const std::string& path) {
  // FileDispositionInfoEx, which mingw-w64 does not declare.
  constexpr auto kDispositionEx = static_cast<FILE_INFO_BY_HANDLE_CLASS>(21);
  FILE_DISPOSITION_INFO_EX at_once{.Flags = FILE_DISPOSITION_FLAG_DELETE |
                                            FILE_DISPOSITION_FLAG_POSIX_SEMANTICS};
  if (SetFileInformationByHandle(file, kDispositionEx, &at_once, sizeof(at_once))) {
    return absl::OkStatus();
  }
  FILE_DISPOSITION_INFO plain{.DeleteFile = TRUE};
  if (SetFileInformationByHandle(file, FileDispositionInfo, &plain, sizeof(plain))) {
    return absl::OkStatus();
  }
  return LastError(path);
}

}  // namespace csi_proxy::win32
