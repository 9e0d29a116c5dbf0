#include <spdlog/sinks/win_eventlog_sink.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "server/observability/loggers.h"
#include "server/platform/win32.h"

namespace csi_proxy::observability {

spdlog::sink_ptr NewEventLogSink() {
  return std::make_shared<spdlog::sinks::win_eventlog_sink_mt>("csi-proxy");
}

absl::StatusOr<std::string> LogFileName(const std::string& name) {
  if (name.empty()) return name;
  const std::wstring wide = win32::Utf16(name);
  const int length = static_cast<int>(wide.size());
  // A character has at most four bytes.
  std::string narrow(wide.size() * 4, '\0');
  BOOL replaced = FALSE;
  // With UTF-8, WideCharToMultiByte() fails if `replaced` is passed. UTF-8 has every character
  // (https://learn.microsoft.com/windows/win32/api/stringapiset/nf-stringapiset-widechartomultibyte).
  const bool utf8 = GetACP() == CP_UTF8;
  const int written = WideCharToMultiByte(CP_ACP, utf8 ? 0 : WC_NO_BEST_FIT_CHARS, wide.data(),
                                          length, narrow.data(), static_cast<int>(narrow.size()),
                                          nullptr, utf8 ? nullptr : &replaced);
  if (written <= 0 || replaced) {
    return absl::InvalidArgumentError(
        absl::StrCat("the log file's name has characters that code page ", GetACP(),
                     " of this system does not have: ", name));
  }
  narrow.resize(static_cast<size_t>(written));
  return narrow;
}

std::string MachineName() {
  char name[MAX_COMPUTERNAME_LENGTH + 1] = {};
  DWORD size = sizeof(name);
  return GetComputerNameA(name, &size) != 0 ? name : "unknownhost";
}

}  // namespace csi_proxy::observability
