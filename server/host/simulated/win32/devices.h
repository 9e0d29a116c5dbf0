// What the disks and volumes of a simulated node answer to control codes, in Windows' layouts.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "server/host/simulated/state.h"
#include "server/host/windows/os.h"

namespace csi_proxy::host::simulated {

// As Os::Control(). Disks know the codes of layouts.h that ask a disk, volumes those that ask a
// volume or the disk below; any other is ERROR_INVALID_FUNCTION. A disk is `\\.\PhysicalDriveN` or
// DevicePath(N).
absl::StatusOr<windows::Bytes> ControlDevice(NodeState& state, const std::string& device,
                                             windows::DeviceAccess access, uint32_t code,
                                             const windows::Bytes& input, size_t max_output);

}  // namespace csi_proxy::host::simulated
