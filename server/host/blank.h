// Tells an unused disk, or part of one, from one that somebody has written to.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "server/machine/os.h"

namespace csi_proxy::host {

// True if the first 2 MiB and the last MiB of a part of an online disk are all zero, as on a
// cloud's new disk and on a new partition of it. Other bytes mean that somebody has written there:
// another system's file system, an encrypted one, a member of a RAID or of a volume manager, old
// data. A superblock or a header lies in these ranges (VMFS the farthest in, at 1 MiB; Linux' RAID
// and ZFS at the end), so nobody must know them by name. This is stricter than what Kubernetes does
// on Linux, where a disk is formatted when blkid knows nothing that is on it
// (github.com/kubernetes/mount-utils, GetDiskFormat in mount_linux.go).
//
// Offset and size are multiples of the disk's sector size. NOT_FOUND when there is no such disk.
absl::StatusOr<bool> IsBlank(machine::Os& os, const CallContext& context, uint32_t disk_number,
                             uint64_t offset_bytes, uint64_t size_bytes);

}  // namespace csi_proxy::host
