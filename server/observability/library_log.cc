#include "server/observability/library_log.h"

#include <google/protobuf/stubs/logging.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "csi_proxy/steady_time.h"
#include "server/names/unicode.h"
#include "server/observability/repeats.h"

namespace csi_proxy::observability {
namespace {

struct LibraryLog {
  const LogFunction log;
  Repeats repeats{[this](const Repeats::Count& count) {
    log(Severity::kInfo, absl::StrCat(count.image_path, ": ", count.times, " more messages of ",
                                      count.what, ":", count.process_id, " within a minute"));
  }};
};
// Never destroyed, because threads of a library may log until the process ends.
LibraryLog* library_log = nullptr;

void WriteOfProtobuf(google::protobuf::LogLevel level, const char* file, int line,
                     const std::string& message) {
  const Severity severity = level == google::protobuf::LOGLEVEL_FATAL  ? Severity::kError
                            : level == google::protobuf::LOGLEVEL_INFO ? Severity::kInfo
                                                                       : Severity::kWarning;
  WriteLibraryLine("protobuf", file, line, severity, message);
}

}  // namespace

void WriteLibraryLine(const char* library, const char* file, int line, Severity severity,
                      absl::string_view message) {
  // Limits lines by their place in the library's code. A message that ends the process has its own
  // limit, so that earlier messages cannot suppress it.
  const auto kind =
      severity == Severity::kError ? absl::StatusCode::kInternal : absl::StatusCode::kUnknown;
  if (!library_log->repeats.Admit(file, {.process_id = line, .image_path = library}, kind,
                                  SteadyTime::Now())) {
    return;
  }
  library_log->log(severity, LogText(absl::StrCat(library, ": ", ShortenForLog(message), " (", file,
                                                  ":", line, ")"),
                                     file, line));
}

void RouteLibraryLogs(LogFunction log) {
  library_log = new LibraryLog{.log = std::move(log)};
  google::protobuf::SetLogHandler(WriteOfProtobuf);
}

}  // namespace csi_proxy::observability
