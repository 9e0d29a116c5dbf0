// Queries disks and volumes directly, without WMI, and waits until one comes or goes.
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
#include "server/host/deps.h"
#include "server/machine/layouts.h"
#include "server/machine/os.h"
#include "server/names/volume_id.h"
#include "server/names/win32_error.h"

namespace csi_proxy::host {

// Records `fallback` if Windows refused a request to a disk for one of the reasons that `fallback`
// is about, and otherwise kDiskDoesNotAnswer.
void RecordRefusal(Fallback fallback, const absl::Status& refused,
                   std::initializer_list<uint32_t> reasons);

// The errors of a request that a disk's driver does not know or does not let this process make.
inline constexpr std::initializer_list<uint32_t> kUnknownRequest = {
    win32_error::kInvalidFunction, win32_error::kAccessDenied, win32_error::kNotSupported,
    win32_error::kInvalidParameter};

// Returns true if the error says that a device does not work or has been removed.
bool IsDeviceFailure(const absl::Status& status);

// Returns the name of a disk for DetachedRuns.
inline std::string DiskName(uint32_t disk_number) { return absl::StrCat("disk ", disk_number); }
// Returns the NOT_FOUND error for a disk number that no disk has.
absl::Status NoDisk(uint32_t disk_number);

// Return NOT_FOUND if there is no such disk.
absl::StatusOr<uint64_t> GetDiskLength(machine::Os& os, uint32_t disk_number);
absl::StatusOr<machine::DiskAttributes> GetDiskAttributes(machine::Os& os, uint32_t disk_number);
absl::Status ClearReadOnly(machine::Os& os, uint32_t disk_number);
// Makes Windows read the disk's size from the device again, since the disk may have grown. On
// failure the size stays the one that Windows has cached.
void UpdateDiskLength(machine::Os& os, uint32_t disk_number);
// Returns UNAVAILABLE if the disk at a device path has another number now, INTERNAL if it does not
// answer.
absl::Status CheckDevice(machine::Os& os, uint32_t disk_number, const std::string& path);
// Returns the partitions that the disk reports.
absl::StatusOr<std::vector<machine::PartitionEntry>> GetDriveLayout(machine::Os& os,
                                                                    uint32_t disk_number);
// Returns FAILED_PRECONDITION if the disk of a volume is dynamic: only the mount manager, not WMI,
// shows its volumes
// (learn.microsoft.com/windows-server/storage/disk-management/change-a-dynamic-disk-back-to-a-basic-disk).
absl::Status CheckNotDynamic(machine::Os& os, const std::string& volume, uint32_t disk_number);
// Asks the disk at a device path for its identifiers. Also checks its number, because Windows may
// reassign device paths after WMI has returned one.
absl::StatusOr<machine::DeviceIds> AskForDeviceIds(machine::Os& os, uint32_t disk_number,
                                                   const std::string& path);
// Returns the unit number by which Windows addresses the disk. Checks the disk's number likewise.
absl::StatusOr<uint32_t> AskForScsiLun(machine::Os& os, uint32_t disk_number,
                                       const std::string& path);
// OK if the disk exists, else NOT_FOUND.
absl::Status CheckDisk(machine::Os& os, uint32_t disk_number);

// Where IsBlank() reads.
enum class Look {
  // The first 2 MiB and the last MiB.
  kAtEnds,
  // Also 255 places in between, evenly spread. Finds the rest of a file system whose ends are lost,
  // unless the rest is small.
  kThroughout,
};

// Returns true if a part of an online disk reads as zero where `look` looks, as a new cloud disk
// and a new partition on it do. Other bytes are data: another system's file system, an encrypted
// one, a member of a RAID or volume manager. Their superblocks and headers lie in the first 2 MiB
// or the last MiB (VMFS the farthest in, at 1 MiB; Linux' RAID and ZFS at the end), so no format
// needs to be recognised. This is stricter than Kubernetes on Linux, which formats a disk on which
// blkid recognises nothing (github.com/kubernetes/mount-utils, GetDiskFormat in mount_linux.go).
//
// REQUIRES: offset and size are multiples of the sector size. NOT_FOUND if there is no such disk.
absl::StatusOr<bool> IsBlank(machine::Os& os, const CallContext& context, uint32_t disk_number,
                             uint64_t offset_bytes, uint64_t size_bytes, Look look);

// Returns "" if IsBlank(), else the kind of data at the beginning of the part in words for an
// error: `an XFS file system of Linux`, or `data that Windows does not recognise`. The words are
// only for texts: no call formats a disk because its data was not recognised.
absl::StatusOr<std::string> FindData(machine::Os& os, const CallContext& context,
                                     uint32_t disk_number, uint64_t offset_bytes,
                                     uint64_t size_bytes, Look look);

// Returns the extents of a volume, at least one. NOT_FOUND if there is no such volume.
absl::StatusOr<std::vector<machine::DiskExtent>> GetVolumeExtents(machine::Os& os,
                                                                  const std::string& volume);

// Returns the volumes of which a part lies on a disk, by their offset there. `seen`, if not null,
// is the caller's picture, empty at its first look, which asks every volume of the node for its
// place. Each further look lists the volumes, and asks those of the disk and those without a place.
// If a volume has come, gone or moved, it asks every volume again. So it misses only a volume whose
// disk was pulled and came back under this number between two looks.
absl::StatusOr<std::vector<VolumeView>> VolumesOn(const Deps& deps, const CallContext& context,
                                                  uint32_t disk_number, NodeVolumes* seen);
// Returns the number of the partition that a volume fills.
absl::StatusOr<uint32_t> GetPartitionNumber(machine::Os& os, const std::string& volume);
// Returns true if a volume's file system is marked dirty; false if it has no such mark.
absl::StatusOr<bool> IsDirty(machine::Os& os, const std::string& volume);
// Writes the cached data of a volume to its disk. A flush of a broken disk may never return, and
// Windows cannot be told to give it up: the call leaves it when `context` ends. First remembers a
// volume that a folder mounts as used.
absl::Status Flush(const Deps& deps, const CallContext& context, const std::string& volume);
// Extends the file system of a volume to `sectors` sectors of its partition.
absl::Status ExtendVolume(machine::Os& os, const std::string& volume, uint64_t sectors);
// Makes Windows remount the file system of a volume at the next access. Its open files are lost.
absl::Status Dismount(machine::Os& os, const std::string& volume);

// Paces a loop that looks for something that arrives with a disk or volume: call Watch(), look,
// call Wait(), repeat. Wait() returns early when the machine reports an arrival or a removal, and
// in any case after a pause, because a report may be lost or too early. Not thread-safe.
class DeviceWatch {
 public:
  // The pause between two looks doubles from `first` to `longest` until a device comes or goes.
  DeviceWatch(machine::Os* os, absl::Duration first, absl::Duration longest)
      : os_(*os), first_(first), longest_(longest) {}

  // Must be called before each look.
  void Watch() { seen_ = os_.DeviceChanges(); }
  // Waits until the next look is due. Returns CallContext::Check() once the call has ended.
  absl::Status Wait(const CallContext& context);

 private:
  machine::Os& os_;
  const absl::Duration first_, longest_;
  absl::Duration pause_;
  uint64_t seen_ = 0;
};

}  // namespace csi_proxy::host
