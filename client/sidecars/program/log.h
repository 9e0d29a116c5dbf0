// The program's log on standard error, by spdlog. Not the service's (server/service), which
// would bring more memory than all else here: a node runs this once for each driver.
#pragma once

#include <spdlog/sinks/sink.h>

#include "absl/strings/string_view.h"
#include "csi_proxy/log_function.h"

namespace csi_proxy::sidecars {

enum class LogFormat { kText, kJson };

// Lines as klog writes them, or as the service's --log-format=json does, each with the component
// that it is about. Thread-safe.
LogFunction LogTo(spdlog::sink_ptr sink, LogFormat format, absl::string_view component);

LogFunction LogToStandardError(LogFormat format, absl::string_view component);

}  // namespace csi_proxy::sidecars
