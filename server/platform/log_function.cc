#include "csi_proxy/log_function.h"

#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/names/unicode.h"
#include "server/platform/peer_process.h"

namespace csi_proxy {

void LogToStderr(Severity severity, const LogText& line) {
  constexpr const char* kLetters[] = {"I", "W", "E"};
  // klog, too, prints the process id in place of the thread id.
  static const int64_t process = OwnProcess().process_id;
  std::cerr << absl::StrCat(
      kLetters[static_cast<size_t>(severity)],
      absl::FormatTime("%m%d %H:%M:%E6S ", absl::Now(), absl::LocalTimeZone()),
      absl::Dec(process, absl::kSpacePad7), " ", ImageName(line.file), ":", line.line, "] ",
      EscapeForLog(line.text, ""), "\n");
}

}  // namespace csi_proxy
