// Queries disks and volumes directly, without WMI, and waits for arrivals and removals.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/base/fallbacks.h"
#include "server/host/host_deps.h"
#include "server/machine/layouts.h"
#include "server/machine/os.h"
#include "server/names/volume_id.h"
#include "server/names/win32_error.h"

namespace csi_proxy::host {

// Records `fallback` if `refused` has one of the Win32 codes `reasons`. Otherwise records
// kDiskDoesNotAnswer. `refused` is the error of a request to a disk.
void RecordRefusal(Fallback fallback, const absl::Status& refused,
                   std::initializer_list<uint32_t> reasons);

// The Win32 codes with which a disk's driver refuses a request: the driver does not implement the
// request, or this process lacks the access right.
inline constexpr std::initializer_list<uint32_t> kUnknownRequest = {
    win32_error::kInvalidFunction, win32_error::kAccessDenied, win32_error::kNotSupported,
    win32_error::kInvalidParameter};

// Returns true if the error says that a device does not work or has been removed.
bool IsDeviceFailure(const absl::Status& status);

// Returns the name of a disk for DetachedRuns.
inline std::string DiskName(uint32_t disk_number) { return absl::StrCat("disk ", disk_number); }
// Returns the NOT_FOUND error for a missing disk number.
absl::Status NoDisk(uint32_t disk_number);

// The next three functions return NOT_FOUND if the disk does not exist.
absl::StatusOr<uint64_t> GetDiskLength(machine::Os& os, uint32_t disk_number);
absl::StatusOr<machine::DiskAttributes> GetDiskAttributes(machine::Os& os, uint32_t disk_number);
absl::Status ClearReadOnly(machine::Os& os, uint32_t disk_number);
// Makes Windows read the disk's size from the device again, because the disk may have grown. On
// failure Windows keeps the cached size.
void UpdateDiskLength(machine::Os& os, uint32_t disk_number);
// Returns UNAVAILABLE if the disk at a device path has another number now, INTERNAL if the path is
// empty, and Windows' error if the disk does not answer.
absl::Status CheckDevice(machine::Os& os, uint32_t disk_number, const std::string& path);
// Returns the partitions that the disk reports.
absl::StatusOr<std::vector<machine::PartitionEntry>> GetDriveLayout(machine::Os& os,
                                                                    uint32_t disk_number);
// Returns FAILED_PRECONDITION if the disk of a volume is dynamic, because WMI does not show volumes
// of dynamic disks; only the mount manager does
// (learn.microsoft.com/windows-server/storage/disk-management/change-a-dynamic-disk-back-to-a-basic-disk).
absl::Status CheckNotDynamic(machine::Os& os, const std::string& volume, uint32_t disk_number);
// Returns the identifiers of the disk at a device path. Also checks the disk's number, because
// Windows may reassign a device path after WMI has returned it.
absl::StatusOr<machine::DeviceIds> AskForDeviceIds(machine::Os& os, uint32_t disk_number,
                                                   const std::string& path);
// Returns the SCSI logical unit number by which Windows addresses the disk. Checks the disk's
// number like AskForDeviceIds().
absl::StatusOr<uint32_t> AskForScsiLun(machine::Os& os, uint32_t disk_number,
                                       const std::string& path);
// Returns NOT_FOUND if the disk does not exist.
absl::Status CheckDisk(machine::Os& os, uint32_t disk_number);

// The places that IsBlank() reads.
enum class Look {
  // The first 2 MiB and the last MiB.
  kAtEnds,
  // Also 255 evenly spread places in between. Finds the remains of a file system that has lost its
  // ends, unless the remains are small.
  kThroughout,
};

// Returns true if a part of an online disk reads as zero at the places of `look`, like a new cloud
// disk and a new partition on it. Other bytes are data: another system's file system, an encrypted
// one, a member of a RAID or volume manager. Superblocks and headers of these are in the first 2
// MiB or the last MiB (VMFS at 1 MiB; Linux' RAID and ZFS at the end), so the formats need not be
// recognised. Kubernetes on Linux is less strict: it formats a disk if blkid recognises nothing
// (github.com/kubernetes/mount-utils, GetDiskFormat in mount_linux.go).
//
// REQUIRES: offset and size are multiples of the sector size. NOT_FOUND if there is no such disk.
absl::StatusOr<bool> IsBlank(machine::Os& os, const CallContext& context, uint32_t disk_number,
                             uint64_t offset_bytes, uint64_t size_bytes, Look look);

// Returns "" if IsBlank(). Otherwise returns the kind of data at the beginning of the part, in
// words for an error: `an XFS file system of Linux`, or `data that Windows does not recognise`. Use
// the words only in messages: a call never formats a disk because its data was not recognised.
absl::StatusOr<std::string> FindData(machine::Os& os, const CallContext& context,
                                     uint32_t disk_number, uint64_t offset_bytes,
                                     uint64_t size_bytes, Look look);

// Returns the extents of a volume, at least one. NOT_FOUND if the volume does not exist.
absl::StatusOr<std::vector<machine::DiskExtent>> GetVolumeExtents(machine::Os& os,
                                                                  const std::string& volume);

// Returns the volumes with an extent on a disk, sorted by the offset of their first extent.
//
// `seen`, if not null, is the caller's view of the node's volumes, empty before the first call.
// The first call queries every volume of the node for its extents. Each later call lists the
// volumes, and queries only the volumes of the disk and the volumes without extents. If a volume
// has arrived, left or moved, the call queries every volume again. So the later calls miss only a
// volume whose disk was removed and came back under this number between two calls.
absl::StatusOr<std::vector<VolumeView>> VolumesOn(const HostDeps& deps, const CallContext& context,
                                                  uint32_t disk_number, NodeVolumes* seen);
// Returns the number of the partition that a volume fills.
absl::StatusOr<uint32_t> GetPartitionNumber(machine::Os& os, const std::string& volume);
// Returns true if a volume's file system is marked dirty, or if its mark is unreadable. Returns
// false if the file system does not support the mark.
absl::StatusOr<bool> IsDirty(machine::Os& os, const std::string& volume);
// Writes the cached data of a volume to its disk, after earlier flushes that callers have left.
// First adds the volume to UsedVolumes if it is mounted at a folder. A flush of a broken disk may
// never return, and Windows cannot end it, so the call leaves the flush when `context` ends.
absl::Status Flush(const HostDeps& deps, const CallContext& context, const std::string& volume);
// Extends the file system of a volume to `sectors` sectors of its partition.
absl::Status ExtendVolume(machine::Os& os, const std::string& volume, uint64_t sectors);
// Makes Windows remount a volume's file system at the next access. Handles of open files fail.
absl::Status Dismount(machine::Os& os, const std::string& volume);

// Paces a loop that waits for an object of a new disk or volume: call Watch(), check, call Wait(),
// repeat. Wait() returns early when the machine reports an arrival or a removal, and in any case
// after a pause, because a report may be lost or too early. Not thread-safe.
class DeviceWatch {
 public:
  // The pause doubles from `first` to `longest`; a device that arrives or leaves resets the pause.
  DeviceWatch(machine::Os* os, absl::Duration first, absl::Duration longest)
      : os_(*os), first_(first), longest_(longest) {}

  // Must be called before each check.
  void Watch() { seen_ = os_.DeviceChanges(); }
  // Waits until the next check is due. Returns CallContext::Check() if the call has ended.
  absl::Status Wait(const CallContext& context);

 private:
  machine::Os& os_;
  const absl::Duration first_, longest_;
  absl::Duration pause_;
  uint64_t seen_ = 0;
};

}  // namespace csi_proxy::host
