// Sets up the log: spdlog, with lines in klog's format for operators' tools, or JSON.
#pragma once

#include <spdlog/common.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/base/audit.h"

namespace csi_proxy::observability {

enum class LogFormat { kText, kJson };

// The loggers of audit and call lines. Pods can cause any number of these lines. spdlog's default
// logger is the logger of call lines.
inline constexpr char kAuditLogger[] = "audit";
inline constexpr char kCallLogger[] = "calls";
// The logger of the service's start, stop and failures. Only its lines reach the event log, because
// a pod that could write there would push out the entries of other programs.
inline constexpr char kServiceLogger[] = "service";

// Return a line for --log-format=json: a LogLine as JSON, without line end.
std::string JsonLine(absl::Time time, absl::string_view severity, absl::string_view message);
std::string JsonLine(absl::Time time, const AuditRecord& record);

struct LogOptions {
  // Klog's -v: 0 start, stop and failures; 2 every call; 4 details.
  int verbosity = 0;
  LogFormat format = LogFormat::kText;
  // Logs to standard error instead of to a file, as klog does by default.
  bool to_stderr = true;
  bool also_to_stderr = false;
  std::string file = {};
  // The directory of `csi-proxy.log` if `file` is empty.
  std::string directory = {};
  std::string FileName() const {
    return file.empty() && !directory.empty() ? directory + "/csi-proxy.log" : file;
  }
  // A new file begins at this size. Five full files are kept.
  size_t file_max_megabytes = 20;
  // Klog's -skip_headers, -add_dir_header and -skip_log_headers. The last one omits the lines that
  // a text file begins with.
  bool skip_headers = false;
  bool add_dir_header = false;
  bool skip_file_headers = false;
};

// Sets up the process's loggers. kServiceLogger also writes to `event_log`, unless that is null.
// Returns INVALID_ARGUMENT if the file cannot be opened. A further call replaces the loggers.
// REQUIRES: called before threads are started.
absl::Status InitLogging(const LogOptions& options, spdlog::sink_ptr event_log = nullptr);

}  // namespace csi_proxy::observability
