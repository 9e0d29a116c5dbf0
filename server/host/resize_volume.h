// The sizes of volumes, and how they grow: partitions through WMI, file systems through Win32.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "server/base/volume_id.h"
#include "server/host/storage_namespace.h"
#include "server/host/volume_host.h"
#include "server/machine/cim/session.h"
#include "server/machine/layouts.h"
#include "server/machine/os.h"

namespace csi_proxy::host {

// Returns the extent of a volume of a basic disk. FAILED_PRECONDITION if it has several.
absl::StatusOr<machine::DiskExtent> ExtentOf(machine::Os& os, const CallContext& context,
                                             const VolumeId& volume);

// See VolumeHost.
absl::StatusOr<GrowthRoom> GetGrowthRoom(cim::Session& wmi, machine::Os& os,
                                         const CallContext& context, const VolumeId& volume);
absl::Status Resize(cim::Session& wmi, StorageNamespace& storage, machine::Os& os,
                    const CallContext& context, const VolumeId& volume, uint64_t size_bytes,
                    ResizeTo how);
absl::StatusOr<bool> ExtendFileSystem(cim::Session& wmi, machine::Os& os,
                                      const CallContext& context, const VolumeId& volume,
                                      uint64_t size_bytes);

}  // namespace csi_proxy::host
