// Loggers for drivers that embed the service, and the system-dependent parts of the service's own.
#pragma once

#include <spdlog/logger.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace csi_proxy::service {

// Returns a logger that passes lines without time to `function`, which must be thread-safe.
std::shared_ptr<spdlog::logger> NewFunctionLogger(
    std::function<void(spdlog::level::level_enum, absl::string_view)> function);

// Returns a formatter for klog's lines: severity, date, time, thread, then the text as one line.
std::unique_ptr<spdlog::formatter> NewTextFormatter();

// Returns a logger to standard error with klog's lines.
std::shared_ptr<spdlog::logger> NewStderrLogger();

// Returns a sink to the Windows event log, source `csi-proxy`. Null on other systems.
spdlog::sink_ptr NewEventLogSink();

// Converts the log file's name from UTF-8 to the encoding of fopen(). Returns INVALID_ARGUMENT for
// a name that Windows' code page cannot express.
absl::StatusOr<std::string> LogFileName(const std::string& name);

}  // namespace csi_proxy::service
