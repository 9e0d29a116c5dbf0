// The program's log on standard error, through spdlog. The service's log (server/service) would use
// more memory than the rest of this program, which runs once per driver on every node.
#pragma once

#include <spdlog/sinks/sink.h>

#include "absl/strings/string_view.h"
#include "csi_proxy/log_function.h"

namespace csi_proxy::sidecars {

enum class LogFormat { kText, kJson };

// Returns a log of lines in klog's format, or in that of the service's --log-format=json. Each line
// names the component. Thread-safe.
LogFunction LogTo(spdlog::sink_ptr sink, LogFormat format, absl::string_view component);

LogFunction LogToStandardError(LogFormat format, absl::string_view component);

}  // namespace csi_proxy::sidecars
