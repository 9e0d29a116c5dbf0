// The limits and switches of the command line, for the log and the metrics.
#pragma once

#include <vector>

#include "server/base/flag_in_force.h"
#include "server/service/options.h"

namespace csi_proxy::service {

// Returns the flags that are numbers, durations or switches, except those about the log. No text of
// a flag is in them, because the metrics have no authentication.
std::vector<FlagInForce> FlagsInForce(const Options& options);

}  // namespace csi_proxy::service
