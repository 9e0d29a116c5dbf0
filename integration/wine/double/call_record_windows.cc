#include "integration/wine/double/call_record_windows.h"

#include "absl/strings/str_cat.h"
#include "server/platform/win32.h"

namespace csi_proxy::node_double {
namespace {

// Returns INVALID_HANDLE_VALUE if CSI_PROXY_DOUBLE_RECORD is unset, i.e. nothing is recorded.
HANDLE OpenRecord() {
  std::wstring path(MAX_PATH, L'\0');
  const DWORD length = GetEnvironmentVariableW(L"CSI_PROXY_DOUBLE_RECORD", path.data(), MAX_PATH);
  if (length == 0 || length >= MAX_PATH) return INVALID_HANDLE_VALUE;
  // FILE_APPEND_DATA alone appends every write, so several programs can share the file.
  return CreateFileW(path.c_str(), FILE_APPEND_DATA, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr,
                     OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr);
}

}  // namespace

std::string VariantTypeName(VARTYPE type) {
  if ((type & VT_ARRAY) != 0) {
    return absl::StrCat("VT_ARRAY|", VariantTypeName(static_cast<VARTYPE>(type & ~VT_ARRAY)));
  }
  switch (type) {
    case VT_NULL:
      return "VT_NULL";
    case VT_I2:
      return "VT_I2";
    case VT_I4:
      return "VT_I4";
    case VT_UI1:
      return "VT_UI1";
    case VT_UI2:
      return "VT_UI2";
    case VT_UI4:
      return "VT_UI4";
    case VT_R4:
      return "VT_R4";
    case VT_R8:
      return "VT_R8";
    case VT_BOOL:
      return "VT_BOOL";
    case VT_BSTR:
      return "VT_BSTR";
    case VT_UNKNOWN:
      return "VT_UNKNOWN";
    case VT_DISPATCH:
      return "VT_DISPATCH";
    default:
      return absl::StrCat("VT_", type);
  }
}

void RecordCall(absl::string_view kind, absl::string_view class_name, absl::string_view what,
                absl::string_view parameters, absl::string_view result) {
  static const HANDLE record = OpenRecord();
  if (record == INVALID_HANDLE_VALUE) return;
  const std::string line =
      absl::StrCat(kind, "\t", class_name, "\t", what, "\t", parameters, "\t", result, "\n");
  DWORD written = 0;
  WriteFile(record, line.data(), static_cast<DWORD>(line.size()), &written, nullptr);
}

}  // namespace csi_proxy::node_double
