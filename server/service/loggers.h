// The loggers of a driver that embeds the service, and the parts of the service's logger that
// differ between systems.
#pragma once

#include <spdlog/logger.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace csi_proxy::observability {

// Lines go to `function`, without time or severity, which it may add. Thread-safe if `function` is.
std::shared_ptr<spdlog::logger> NewFunctionLogger(
    std::function<void(spdlog::level::level_enum, absl::string_view)> function);

// Writes klog's lines: severity, month and day, time, thread, then the text, as one line.
std::unique_ptr<spdlog::formatter> NewTextFormatter();

// Lines go to standard error, in the form of klog.
std::shared_ptr<spdlog::logger> NewStderrLogger();

// A sink for start, stop and failures: the Windows event log, source `csi-proxy`. Null where there
// is none.
spdlog::sink_ptr NewEventLogSink();

// Converts the log file's name, which is UTF-8, to the form that the C library's fopen() reads.
// INVALID_ARGUMENT for a name that Windows' code page does not have.
absl::StatusOr<std::string> LogFileName(const std::string& name);

}  // namespace csi_proxy::observability
