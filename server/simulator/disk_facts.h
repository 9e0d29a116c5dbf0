// From a described disk to its facts and back.
#pragma once

#include <string>
#include <vector>

#include "server/simulator/problems.h"
#include "server/simulator/scenario.h"
#include "server/simulator/state.h"

namespace csi_proxy::machine::simulated {

DiskFacts ReadDiskFacts(const csi_proxy::simulated::Disk& in, const std::string& at,
                        Problems* problems);
void WriteDiskFacts(const DiskFacts& facts, csi_proxy::simulated::Disk* out);

// Reads the bytes that somebody else has written to a disk.
std::vector<DiskBytes> ReadForeign(const csi_proxy::simulated::Disk& disk);
void WriteForeign(const std::vector<DiskBytes>& foreign, csi_proxy::simulated::Disk* disk);

}  // namespace csi_proxy::machine::simulated
