// The operations of a node on volumes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "server/base/volume_id.h"
#include "server/base/windows_path.h"

namespace csi_proxy::host {

struct VolumeStats {
  uint64_t total_bytes = 0;
  uint64_t used_bytes = 0;
};

// kExactly makes a volume as large as asked or fails; kAtMost makes it as large as Windows can, up
// to that size.
enum class ResizeTo { kExactly, kAtMost };

// The room that a partition has to grow.
struct GrowthRoom {
  // The largest size that the partition may have, in bytes; not below its present size.
  uint64_t size_bytes = 0;
  // What keeps the partition from the end of the disk, in words; empty if nothing does.
  std::string obstacle;
};

struct FormatOptions {
  std::string file_system = "NTFS";
  // 0: the file system's default.
  uint32_t allocation_unit_bytes = 0;
  // At most 32 UTF-16 units
  // (learn.microsoft.com/windows/win32/api/winbase/nf-winbase-setvolumelabelw); empty: none.
  std::string label = "";
};

struct VolumeHealth {
  // As GetFileSystem() gives it.
  std::string file_system;
  // The file system will be checked at the next start.
  bool is_dirty = false;
  // `Healthy`, `Scan needed`, `Spot fix needed`, `Full repair needed` or `Locked by BitLocker`;
  // empty when Windows does not say, as of a volume without a file system.
  std::string health;
  uint32_t disk_number = 0;
};

// A drive letter or a folder at which a volume is mounted.
struct MountPoint {
  // `D:\`, `C:\a\b\`.
  std::string path;
  // A folder below a working directory: a driver has mounted the volume there.
  bool is_drivers = false;
  bool is_drive() const { return path.size() <= 3; }
};

// Thread-safe. Every method fails with NOT_FOUND for a volume or disk the node does not have, and
// INTERNAL (operation, Windows error code and text) when the node refuses.
class VolumeHost {
 public:
  virtual ~VolumeHost() = default;

  // In partition order, but those of EFI system, recovery and active partitions last; of all
  // partitions when `partition_number` is 0. NOT_FOUND for a partition
  // that is not there; an empty list when there are partitions but no volumes yet.
  virtual absl::StatusOr<std::vector<VolumeId>> ListVolumes(const CallContext& context,
                                                            uint32_t disk_number,
                                                            uint32_t partition_number) = 0;

  // The name of the volume's file system, as `NTFS`; empty when it has none Windows knows.
  virtual absl::StatusOr<std::string> GetFileSystem(const CallContext& context,
                                                    const VolumeId& volume) = 0;

  // Returns true if nobody seems to have written to the volume; see IsBlank() in devices.h.
  // FAILED_PRECONDITION for a volume of several parts of a dynamic disk.
  virtual absl::StatusOr<bool> IsBlank(const CallContext& context, const VolumeId& volume) = 0;

  // Quickly: Windows does not look for bad sectors. All content is lost.
  virtual absl::Status Format(const CallContext& context, const VolumeId& volume,
                              const FormatOptions& options) = 0;

  virtual absl::StatusOr<VolumeHealth> GetHealth(const CallContext& context,
                                                 const VolumeId& volume) = 0;

  // The size of the partition, in bytes.
  virtual absl::StatusOr<uint64_t> GetSize(const CallContext& context, const VolumeId& volume) = 0;

  // Asks the disk for its size again, because the disk may have grown.
  virtual absl::StatusOr<GrowthRoom> GetGrowthRoom(const CallContext& context,
                                                   const VolumeId& volume) = 0;

  // Resizes partition and file system. A file system of a kind that Windows cannot resize (FAT32
  // for one) is FAILED_PRECONDITION with kExactly, and no change with kAtMost.
  virtual absl::Status Resize(const CallContext& context, const VolumeId& volume,
                              uint64_t size_bytes, ResizeTo how) = 0;

  // Extends an NTFS file system that is smaller than its partition by 100 MiB or more, as an image
  // written to the volume is, or one whose growth was cut short. Returns false, having done
  // nothing, for any other, and for one that has `size_bytes` already, unless that is 0.
  virtual absl::StatusOr<bool> ExtendFileSystem(const CallContext& context, const VolumeId& volume,
                                                uint64_t size_bytes) = 0;

  // FAILED_PRECONDITION when the volume has no file system.
  virtual absl::StatusOr<VolumeStats> GetStats(const CallContext& context,
                                               const VolumeId& volume) = 0;

  virtual absl::StatusOr<uint32_t> GetDiskNumber(const CallContext& context,
                                                 const VolumeId& volume) = 0;

  // Mounts at an existing empty directory. No change when that volume is mounted there already. The
  // mount of a volume that is gone is replaced. ALREADY_EXISTS when another volume is mounted
  // there; NOT_FOUND when there is no such directory; FAILED_PRECONDITION when it is not empty or
  // the volume has no file system.
  virtual absl::Status Mount(const CallContext& context, const VolumeId& volume,
                             const ConfinedPath& target) = 0;

  // Removes the mount of `volume`, which may be gone, at `target`; the directory stays. NOT_FOUND
  // when nothing is mounted there, FAILED_PRECONDITION when another volume is.
  virtual absl::Status Unmount(const CallContext& context, const VolumeId& volume,
                               const ConfinedPath& target) = 0;

  // The volume mounted at exactly this path once links are followed (a drive's root is the mount
  // point of the drive's volume). NOT_FOUND when the path is absent or is not a mount point.
  virtual absl::StatusOr<VolumeId> GetVolumeAtMountPoint(const CallContext& context,
                                                         const ConfinedPath& path) = 0;

  // The volume that holds the path: links and mount points followed, at most 256 steps, then
  // upwards to the first mount point or the drive. NOT_FOUND when the path is absent.
  virtual absl::StatusOr<VolumeId> GetVolumeHolding(const CallContext& context,
                                                    const ConfinedPath& path) = 0;

  // Lists where the volume is mounted. Folders that the mount manager remembers, but that lead to
  // the volume no more, are left out. `roots` are the working directories; null: all folders are.
  virtual absl::StatusOr<std::vector<MountPoint>> ListMountPoints(const CallContext& context,
                                                                  const VolumeId& volume,
                                                                  const PathRoots* roots) = 0;

  // Flushes the volume before its mount at `target` ends; see mount_point.h. NOT_FOUND for a volume
  // that is gone; any other error is logged, and the mount should end all the same.
  virtual absl::Status FlushBeforeUnmount(const CallContext& context, const VolumeId& volume,
                                          const ConfinedPath& target) = 0;

  // Flushes the file system's cache to the disk.
  virtual absl::Status Flush(const CallContext& context, const VolumeId& volume) = 0;

  // Returns true if the volume refuses writes. OK and false for one without a file system.
  virtual absl::StatusOr<bool> IsReadOnly(const CallContext& context, const VolumeId& volume) = 0;

  // Remounts the file systems of a disk that refuse writes because they were mounted while the disk
  // was read-only, but not those of volumes that are marked read-only themselves. Only for a disk
  // that nobody uses yet.
  virtual absl::Status MakeWritable(const CallContext& context, uint32_t disk_number) = 0;
};

}  // namespace csi_proxy::host
