#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/names/win32_error.h"
#include "server/platform/win32.h"

namespace csi_proxy::node_double {

// Sets the last error and returns FALSE.
inline BOOL Refuse(DWORD error) {
  SetLastError(error);
  return FALSE;
}
inline BOOL Answer(const absl::Status& status) {
  return status.ok() ? TRUE : Refuse(Win32CodeOf(status).value_or(ERROR_GEN_FAILURE));
}
template <typename T>
BOOL Answer(const absl::StatusOr<T>& result) {
  return Answer(result.status());
}

// Copies text and its NUL into a buffer of `size` characters. Refuses with
// ERROR_FILENAME_EXCED_RANGE, as the calls for volume names do, if the buffer is too small.
inline BOOL AnswerText(const std::string& text, LPWSTR buffer, DWORD size) {
  const std::wstring wide = win32::Utf16(text);
  if (wide.size() >= size) return Refuse(ERROR_FILENAME_EXCED_RANGE);
  wide.copy(buffer, wide.size());
  buffer[wide.size()] = L'\0';
  return TRUE;
}

// Converts text to UTF-8; null becomes empty.
inline std::string TextOf(LPCWSTR text) { return text == nullptr ? "" : win32::Utf8(text); }

}  // namespace csi_proxy::node_double
