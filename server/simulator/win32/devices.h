// The devices and files of the simulated Os: the answers of disks and volumes to control codes, in
// Windows' layouts, and the entries that are opened by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/machine/os.h"
#include "server/simulator/state.h"
#include "server/simulator/win32/gate.h"
#include "server/simulator/win32/open_entries.h"

namespace csi_proxy::machine::simulator {

// Implements Os::Control(). Disks accept the codes of layouts.h that ask a disk, volumes those that
// ask a volume or the disk below; any other fails with ERROR_INVALID_FUNCTION. A disk is
// `\\.\PhysicalDriveN` or DevicePath(N).
absl::StatusOr<machine::Bytes> ControlDevice(NodeState& state, const std::string& device,
                                             machine::DeviceAccess access, uint32_t code,
                                             const machine::Bytes& input, size_t max_output);

// Implements Os::Read() of a disk or a volume. Fails with ERROR_NOT_READY while the disk is
// offline.
absl::StatusOr<machine::Bytes> ReadDevice(NodeState& state, const std::string& device,
                                          uint64_t offset, size_t size);

// Opens the root directory `C:\` or `\\?\Volume{guid}\`. An open file always stands for the entry
// that was opened. After an actor whom OpenEntries does not bind (the node's administrator, a
// format) removes the entry, each method fails with ERROR_ACCESS_DENIED, as on a deleted file;
// after the volume is gone, with ERROR_NOT_READY.
absl::StatusOr<std::unique_ptr<machine::File>> OpenRootDirectory(
    const Gate& gate, const std::shared_ptr<OpenEntries>& open, const std::string& root);

}  // namespace csi_proxy::machine::simulator
