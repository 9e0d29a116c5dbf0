// Parses the location of a disk from Windows' text.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "csi_proxy/disk/hub.h"

namespace csi_proxy::disk {

// Parses MSFT_Disk.Location, as `Integrated : Bus 0 : Device 30 : Function 0 : Adapter 0 : Port 1 :
// Target 2 : LUN 3`: the numbers after Adapter, Bus (or Port where there is no Bus), Target and
// LUN. A part that is missing or not a number is empty: most NVMe disks have no LUN. Returns
// nothing if all four parts are empty.
std::optional<DiskLocation> ParseLocation(absl::string_view text);

}  // namespace csi_proxy::disk
