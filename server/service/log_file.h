// The name of the log file, as the C library opens it.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace csi_proxy::observability {

// `name` is UTF-8. INVALID_ARGUMENT for one that Windows' code page, which C's fopen() reads, does
// not have.
absl::StatusOr<std::string> LogFileName(const std::string& name);

}  // namespace csi_proxy::observability
