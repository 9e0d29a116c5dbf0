// Loggers for drivers that embed the service, and the system-dependent parts of its own loggers.
#pragma once

#include <spdlog/logger.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "csi_proxy/log_function.h"

namespace csi_proxy::observability {

// Logs a line with the place in the code that it comes from.
void Log(spdlog::logger& logger, spdlog::level::level_enum level, const LogText& line);

// Returns a function that passes its lines to Log().
LineFunction LinesTo(std::shared_ptr<spdlog::logger> logger, spdlog::level::level_enum level);

// Returns a logger that passes lines without a header to `log`. REQUIRES: `log` is thread-safe.
std::shared_ptr<spdlog::logger> NewFunctionLogger(LogFunction log);

// Returns a formatter for klog's lines: severity (I for verbose lines), date, time, thread, place
// (`???:1` if unknown), then the text as one line. The arguments are klog's flags.
std::unique_ptr<spdlog::formatter> NewTextFormatter(bool skip_headers = false,
                                                    bool add_dir_header = false);

// Returns a sink to the Windows event log, source `csi-proxy`. Null on other systems.
spdlog::sink_ptr NewEventLogSink();

// Converts the log file's name from UTF-8 to the encoding of fopen(). Returns INVALID_ARGUMENT for
// a name that Windows' code page cannot express.
absl::StatusOr<std::string> LogFileName(const std::string& name);

// Returns the machine's name up to its first dot, or `unknownhost`. Thread-safe.
std::string MachineName();

}  // namespace csi_proxy::observability
