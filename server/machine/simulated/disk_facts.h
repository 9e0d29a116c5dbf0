// From a described disk to its facts and back.
#pragma once

#include <string>

#include "server/machine/simulated/problems.h"
#include "server/machine/simulated/scenario.h"
#include "server/machine/simulated/state.h"

namespace csi_proxy::machine::simulated {

DiskFacts ReadDiskFacts(const csi_proxy::simulated::Disk& in, const std::string& at,
                        Problems* problems);
void WriteDiskFacts(const DiskFacts& facts, csi_proxy::simulated::Disk* out);

}  // namespace csi_proxy::machine::simulated
