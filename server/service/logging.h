// The log of the service: spdlog, in klog's line format, which operators' tools know, or in JSON.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/base/audit.h"

namespace csi_proxy::observability {

enum class LogFormat { kText, kJson };

// The spdlog loggers of audit lines and of calls, which do not go to the event log: pods can
// cause any number of them.
inline constexpr char kAuditLogger[] = "audit";
inline constexpr char kCallLogger[] = "calls";

// A line with --log-format=json: a LogLine, without a line end.
std::string JsonLine(absl::Time time, absl::string_view severity, absl::string_view message);
std::string JsonLine(absl::Time time, const AuditRecord& record);

struct LogOptions {
  // As klog's -v: 0 start, stop and failures; 2 every call; 4 and more details.
  int verbosity = 0;
  LogFormat format = LogFormat::kText;
  // To standard error instead of files, as klog has it by default.
  bool to_stderr = true;
  bool also_to_stderr = false;
  std::string file;
  // The directory of `csi-proxy.log` when `file` is empty.
  std::string directory;
  // The file's size; five full ones are kept beside it.
  size_t file_max_megabytes = 20;
  // Start, stop and failures go to the system's event log as well.
  bool to_event_log = false;
};

// Sets up the process's loggers; to be called once, before threads are started. INVALID_ARGUMENT
// when the file cannot be opened.
absl::Status InitLogging(const LogOptions& options);

}  // namespace csi_proxy::observability
