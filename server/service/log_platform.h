// The parts of logging that differ by system.
#pragma once

#include <spdlog/common.h>

#include <string>

#include "absl/status/statusor.h"

namespace csi_proxy::observability {

// A sink for start, stop and failures: the Windows event log, source `csi-proxy`. Null where there
// is none.
spdlog::sink_ptr NewEventLogSink();

// Converts the log file's name, which is UTF-8, to the form that the C library's fopen() reads.
// INVALID_ARGUMENT for a name that Windows' code page does not have.
absl::StatusOr<std::string> LogFileName(const std::string& name);

}  // namespace csi_proxy::observability
