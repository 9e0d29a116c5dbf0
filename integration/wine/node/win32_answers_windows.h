// The failures and answers of the double's Win32 calls.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/win32.h"
#include "server/base/win32_error.h"

namespace csi_proxy::node_double {

// The last error is `error`; false.
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

// Copies text and its NUL into a buffer of `size` characters; ERROR_FILENAME_EXCED_RANGE when it is
// too small, as for the names of volumes.
inline BOOL AnswerText(const std::string& text, LPWSTR buffer, DWORD size) {
  const std::wstring wide = win32::Utf16(text);
  if (wide.size() >= size) return Refuse(ERROR_FILENAME_EXCED_RANGE);
  wide.copy(buffer, wide.size());
  buffer[wide.size()] = L'\0';
  return TRUE;
}

// Text of a call; empty for null.
inline std::string TextOf(LPCWSTR text) { return text == nullptr ? "" : win32::Utf8(text); }

}  // namespace csi_proxy::node_double
