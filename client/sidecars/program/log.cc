#include "client/sidecars/program/log.h"

#include <cstdio>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "server/base/unicode.h"

#ifdef _WIN32
#include <process.h>
#else
#include <unistd.h>
#endif

namespace csi_proxy::sidecars {
namespace {

// A line is one line, whatever a driver says, and a message a string of JSON.
std::string Escape(LogFormat format, absl::string_view message) {
  std::string text;
  for (const char c : ReplaceInvalidUtf8(message)) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      absl::StrAppendFormat(&text, format == LogFormat::kJson ? "\\u%04x" : "\\x%02x", c);
      continue;
    }
    if (format == LogFormat::kJson && (c == '"' || c == '\\')) text += '\\';
    text += c;
  }
  return text;
}

}  // namespace

std::string LogLine(LogFormat format, absl::Time time, Severity severity,
                    absl::string_view message) {
  const auto level = static_cast<size_t>(severity);
  if (format == LogFormat::kJson) {
    constexpr absl::string_view kNames[] = {"info", "warning", "error"};
    return absl::StrCat(
        "{\"time\":\"", absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone()),
        "\",\"severity\":\"", kNames[level], "\",\"message\":\"", Escape(format, message), "\"}\n");
  }
  constexpr char kLetters[] = {'I', 'W', 'E'};
  return absl::StrFormat("%c%s %7d] %s\n", kLetters[level],
                         absl::FormatTime("%m%d %H:%M:%E6S", time, absl::LocalTimeZone()), getpid(),
                         Escape(format, message));
}

void WriteLog(LogFormat format, Severity severity, absl::string_view message) {
  const std::string line = LogLine(format, absl::Now(), severity, message);
  // In one piece. Standard error has no buffer but on Windows, where it has one if it is not a
  // console.
  fwrite(line.data(), 1, line.size(), stderr);
  fflush(stderr);
}

}  // namespace csi_proxy::sidecars
