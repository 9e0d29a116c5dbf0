// The answers of a simulated node's disks and volumes to control codes, in Windows' layouts.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "server/machine/os.h"
#include "server/simulator/state.h"

namespace csi_proxy::machine::simulated {

// As Os::Control(). Disks know the codes of layouts.h that ask a disk, volumes those that ask a
// volume or the disk below; any other is ERROR_INVALID_FUNCTION. A disk is `\\.\PhysicalDriveN` or
// DevicePath(N).
absl::StatusOr<machine::Bytes> ControlDevice(NodeState& state, const std::string& device,
                                             machine::DeviceAccess access, uint32_t code,
                                             const machine::Bytes& input, size_t max_output);

// As Os::Read(), of a disk or a volume. ERROR_NOT_READY while the disk is offline.
absl::StatusOr<machine::Bytes> ReadDevice(NodeState& state, const std::string& device,
                                          uint64_t offset, size_t size);

}  // namespace csi_proxy::machine::simulated
