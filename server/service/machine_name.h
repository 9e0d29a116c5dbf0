// The name of the machine, for the first lines of a log file.
#pragma once

#include <string>

namespace csi_proxy::service {

// Returns the machine's name up to its first dot, or `unknownhost`. Thread-safe.
std::string MachineName();

}  // namespace csi_proxy::service
