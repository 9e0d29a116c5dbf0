// Questions to disks and volumes themselves, without WMI.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "server/base/volume_id.h"
#include "server/machine/layouts.h"
#include "server/machine/os.h"

namespace csi_proxy::host {

// NOT_FOUND for a disk number that no disk has.
absl::Status NoDisk(uint32_t disk_number);

// Each is NOT_FOUND when there is no such disk.
absl::StatusOr<uint64_t> GetDiskLength(machine::Os& os, uint32_t disk_number);
absl::StatusOr<machine::DiskAttributes> GetDiskAttributes(machine::Os& os, uint32_t disk_number);
absl::Status ClearReadOnly(machine::Os& os, uint32_t disk_number);
// Makes Windows read the disk's size from the device again, since the disk may have grown. When
// that fails, the size is the one that Windows knows.
void UpdateDiskLength(machine::Os& os, uint32_t disk_number);
// UNAVAILABLE if the disk at a device path has another number by now; INTERNAL if it cannot be
// asked.
absl::Status CheckDevice(machine::Os& os, uint32_t disk_number, const std::string& path);
// Asks the disk for its partitions.
absl::StatusOr<std::vector<machine::PartitionEntry>> GetDriveLayout(machine::Os& os,
                                                                    uint32_t disk_number);
// FAILED_PRECONDITION if the disk of a volume is dynamic: the mount manager has its volumes, and
// WMI has not
// (learn.microsoft.com/windows-server/storage/disk-management/change-a-dynamic-disk-back-to-a-basic-disk).
absl::Status CheckNotDynamic(machine::Os& os, const std::string& volume, uint32_t disk_number);
// Counts the volumes that the partitions of a disk promise, whether they are there yet or not.
absl::StatusOr<size_t> CountPromisedVolumes(machine::Os& os, uint32_t disk_number);
// Asks the disk at a device path for its names of itself. The device is asked for its number as
// well: device paths may be given anew between the question to WMI and this one.
absl::StatusOr<machine::DeviceIds> AskForDeviceIds(machine::Os& os, uint32_t disk_number,
                                                   const std::string& path);
// The unit number under which Windows addresses the disk at a device path, which is likewise asked.
absl::StatusOr<uint32_t> AskForScsiLun(machine::Os& os, uint32_t disk_number,
                                       const std::string& path);
// OK if the disk exists, else NOT_FOUND.
absl::Status CheckDisk(machine::Os& os, uint32_t disk_number);

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

// Returns the place of a volume, at least one extent. NOT_FOUND when there is no such volume.
absl::StatusOr<std::vector<machine::DiskExtent>> GetVolumeExtents(machine::Os& os,
                                                                  const std::string& volume);
// A volume and its first extent.
struct LocatedVolume {
  std::string name;
  uint32_t disk_number;
  uint64_t offset;
};
// Lists the volumes that lie on disks, in any order. A volume that is going is left out.
absl::StatusOr<std::vector<LocatedVolume>> LocateVolumes(machine::Os& os,
                                                         const CallContext& context);
// The number of the partition that a volume fills.
absl::StatusOr<uint32_t> GetPartitionNumber(machine::Os& os, const std::string& volume);
// True if the file system of a volume is marked dirty. A file system without such a mark never is.
absl::StatusOr<bool> IsDirty(machine::Os& os, const std::string& volume);
// Writes the cached data of a volume to its disk. The call has no worker slot meanwhile.
absl::Status Flush(machine::Os& os, const CallContext& context, const std::string& volume);
// Flushes the pending writes of all volumes of a disk.
absl::Status FlushVolumes(machine::Os& os, const CallContext& context, uint32_t disk_number);
// Extends the file system of a volume to so many sectors of its partition.
absl::Status ExtendVolume(machine::Os& os, const std::string& volume, uint64_t sectors);
// Remounts the file systems of a disk: see Dismount().
absl::Status DismountVolumes(machine::Os& os, const CallContext& context, uint32_t disk_number);
// Makes Windows remount the file system of a volume at the next access. Its open files are lost.
absl::Status Dismount(machine::Os& os, const std::string& volume);

}  // namespace csi_proxy::host
