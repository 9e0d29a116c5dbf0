// The program's log on standard error. Not the service's (server/observability), which would bring
// more memory than all else here: a node runs this once for each driver.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "csi_proxy/log_function.h"

namespace csi_proxy::sidecars {

enum class LogFormat { kText, kJson };

// As klog writes it, or as the service's --log-format=json does; with its line end.
std::string LogLine(LogFormat format, absl::Time time, Severity severity,
                    absl::string_view message);

// To standard error.
void WriteLog(LogFormat format, Severity severity, absl::string_view message);

}  // namespace csi_proxy::sidecars
