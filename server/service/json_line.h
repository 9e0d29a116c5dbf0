// Lines of the log as JSON objects, one a line.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/base/audit.h"

namespace csi_proxy::observability {

std::string JsonLine(absl::Time time, absl::string_view severity, absl::string_view message);
std::string JsonLine(absl::Time time, const AuditRecord& record);

}  // namespace csi_proxy::observability
