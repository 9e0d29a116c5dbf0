// The operations of a node on volumes.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "server/base/condition.h"
#include "server/host/devices.h"
#include "server/host/disk_description.h"
#include "server/host/host_deps.h"
#include "server/names/volume_id.h"
#include "server/names/windows_path.h"

namespace csi_proxy::host {

struct VolumeStats {
  uint64_t total_bytes = 0;
  uint64_t used_bytes = 0;
};

// kExactly: the volume gets the given size, or the call fails. kAtMost: the volume gets the largest
// size that Windows allows, at most the given one.
enum class ResizeTo { kExactly, kAtMost };

// How far a partition can grow.
struct GrowthRoom {
  // The largest possible size of the partition, in bytes; not below its present size.
  uint64_t size_bytes = 0;
  // Why the partition cannot fill the disk; empty if it can, or if under 100 MiB are left.
  std::string obstacle;
  // The path of the MSFT_Partition; empty if WMI does not show one at the volume's offset.
  std::string object;
};

struct FormatOptions {
  std::string file_system = "NTFS";
  // 0 for the file system's default.
  uint32_t allocation_unit_bytes = 0;
  // At most 32 UTF-16 units; empty for no label
  // (learn.microsoft.com/windows/win32/api/winbase/nf-winbase-setvolumelabelw).
  std::string label = "";
  // The file system that the caller has found, empty for none. Format() keeps any other. If
  // nullopt, Format() replaces any.
  std::optional<std::string> replaces = std::nullopt;
};

struct VolumeHealth {
  // The volume, with its file system.
  VolumeView volume;
  // True if Windows will check the file system at the next start.
  bool is_dirty = false;
  // `Healthy`, `Scan needed`, `Spot fix needed`, `Full repair needed`, another state's number or
  // `Locked by BitLocker`; empty if Windows does not report it, as without a file system.
  std::string health = {};
  // Why `health` is unknown; OK if Windows has answered or was not asked.
  absl::Status unknown = absl::OkStatus();
};

// Thread-safe. A method with a VolumeId or a disk number returns NOT_FOUND if the volume or disk is
// missing, except AwaitFormat(), CheckUnmount() and Unmount(). A refusal by Windows has the status
// code of names/refusals.h, and names the operation and Windows' error.
class VolumeHost {
 public:
  explicit VolumeHost(const HostDeps& deps)
      : deps_(deps), wmi_(*deps.wmi), storage_(*deps.storage), os_(*deps.os) {}

  // Lists the volumes of a partition, or of all partitions if `partition_number` is 0. The
  // volumes are sorted by offset, but volumes of EFI system, recovery and active partitions are
  // last. NOT_FOUND if the partition does not exist; empty if no volume has arrived yet.
  absl::StatusOr<std::vector<VolumeId>> ListVolumes(const CallContext& context,
                                                    uint32_t disk_number,
                                                    uint32_t partition_number);

  // Lists the volumes with an extent on a disk, and their mounts: see VolumesOn() and ReadMounts().
  // Omits volumes that disappear during the call. Does not use WMI.
  absl::StatusOr<std::vector<VolumeView>> LookAtDisk(const CallContext& context,
                                                     uint32_t disk_number, const PathRoots* roots,
                                                     NodeVolumes* seen = nullptr);
  // Lists the volumes with an extent on a disk, without their mounts, in ListVolumes()'s order.
  absl::StatusOr<std::vector<VolumeView>> ListOnDisk(const CallContext& context,
                                                     uint32_t disk_number,
                                                     NodeVolumes* seen = nullptr);

  // Returns the volume with its extents, but without mounts and file system.
  absl::StatusOr<VolumeView> Locate(const CallContext& context, const VolumeId& volume);

  // Returns the file system, and adds the volume to UsedVolumes if it has one. The name is empty if
  // Windows does not recognise a file system.
  absl::StatusOr<machine::FileSystem> GetFileSystem(const CallContext& context,
                                                    const VolumeId& volume);

  // Sets `mounts` and `has_folder`. Omits mounts at folders that no longer lead to the volume.
  // `roots` are the working directories; if null, every folder counts as a driver's.
  absl::Status ReadMounts(const CallContext& context, const PathRoots* roots, VolumeView* volume);

  // Returns "" if the volume seems never written. Otherwise names the data at its beginning: see
  // FindData() in devices.h. FAILED_PRECONDITION for a volume with several extents.
  absl::StatusOr<std::string> FindData(const CallContext& context, const VolumeView& volume,
                                       Look look);

  // Returns words for a sign that the volume was formatted before, whatever its bytes are now; ""
  // if there is no sign. One sign is a folder that the mount manager names for the volume, even if
  // the folder no longer leads to the volume. The other is that UsedVolumes contains the volume. A
  // drive letter is no sign, because Windows assigns letters to new volumes. REQUIRES: ReadMounts()
  // was called; before a format, under the caller's lock of the volume.
  //
  // Windows keeps mounted folders over restarts
  // (learn.microsoft.com/windows/win32/fileio/mounting-and-dismounting-a-volume). A partition that
  // is deleted and made again gets another volume id.
  std::string SignOfUse(const VolumeView& volume) const;

  // Waits until no Format() is under way, not even an abandoned one. Until then data may be lost.
  absl::Status AwaitFormat(const CallContext& context, const VolumeId& volume);

  // Formats without a search for bad sectors. All content is lost. The format goes on after the
  // caller has left, and is never stopped. Reads the volume's file system and folders first, and
  // again before each call of Windows' Format, which StorageNamespace::Invoke() may repeat. If they
  // have changed, or if the file system is another than `options.replaces`, returns UNAVAILABLE
  // without that call. REQUIRES: AwaitFormat() has returned under the caller's lock of the volume.
  absl::Status Format(const CallContext& context, const VolumeId& volume,
                      const FormatOptions& options);

  absl::StatusOr<VolumeHealth> GetHealth(const CallContext& context, const VolumeId& volume);
  // Does GetHealth() without WMI, so that `health` is `Locked by BitLocker` or empty.
  absl::StatusOr<VolumeHealth> ReadHealth(const CallContext& context, const VolumeId& volume);
  // Returns VolumeHealth::health of all volumes in WMI, by one query.
  absl::StatusOr<std::map<VolumeId, std::string>> ListHealth(const CallContext& context);

  // Computes how far the volume's partition can grow. First reads the disk's size from the device
  // again, because the disk may have grown. FAILED_PRECONDITION if the disk is dynamic or Windows'
  // own.
  absl::StatusOr<GrowthRoom> GetGrowthRoom(const CallContext& context, const VolumeView& volume);

  // Resizes partition and file system. If Windows cannot resize the kind of file system (FAT32),
  // returns FAILED_PRECONDITION for kExactly, and OK without a change for kAtMost. `room` is from
  // GetGrowthRoom().
  absl::Status Resize(const CallContext& context, const VolumeView& volume, const GrowthRoom& room,
                      uint64_t size_bytes, ResizeTo how);

  // Extends an NTFS file system that is at least 100 MiB smaller than its partition, for example
  // after an image was written to the volume or its growth was interrupted. Otherwise, or if WMI
  // lacks the sector size, or if the file system has `size_bytes` and that is not 0, returns false
  // without effect. REQUIRES: Locate() was called after the resize of the partition.
  absl::StatusOr<bool> ExtendFileSystem(const CallContext& context, const VolumeView& volume,
                                        uint64_t size_bytes);

  // Returns the sizes. FAILED_PRECONDITION if the volume has no file system.
  absl::StatusOr<VolumeStats> GetStats(const CallContext& context, const VolumeId& volume);

  absl::StatusOr<uint32_t> GetDiskNumber(const CallContext& context, const VolumeId& volume);

  // Mounts the volume at an existing empty directory; no change if it is mounted there. Replaces
  // the mount of a missing volume. ALREADY_EXISTS if another volume is mounted there, NOT_FOUND if
  // `target` does not exist. FAILED_PRECONDITION if `target` is not an empty directory or lies on
  // `volume`, or if `volume` has no file system or lies on Windows' own disk. `disk`, if not null,
  // is the caller's view of the volume's disk, read under the disk's lock, and saves a query.
  absl::Status Mount(const CallContext& context, const VolumeId& volume, const ConfinedPath& target,
                     const DiskDescription* disk = nullptr);

  // Removes the mount of `volume` at `target`; the directory stays, and the volume may be missing.
  // NOT_FOUND if `target` is not a mount point, FAILED_PRECONDITION if another volume is mounted
  // there, and the errors of CheckNotKubelets(). CheckUnmount() returns these errors beforehand, or
  // the path of the mount after links are followed.
  absl::StatusOr<std::string> CheckUnmount(const CallContext& context, const VolumeId& volume,
                                           const ConfinedPath& target);
  absl::Status Unmount(const CallContext& context, const VolumeId& volume,
                       const ConfinedPath& target);

  // Returns the volume mounted at exactly this path after links are followed; a drive's root is the
  // mount point of its volume. NOT_FOUND if the path does not exist or is not a mount point.
  absl::StatusOr<VolumeId> GetVolumeAtMountPoint(const CallContext& context,
                                                 const ConfinedPath& path);

  // Returns the volume that contains the path, or that is mounted at it. Follows links and mount
  // points, at most 256. NOT_FOUND if the path does not exist or is on a server.
  absl::StatusOr<VolumeId> GetVolumeHolding(const CallContext& context, const ConfinedPath& path);

  // Flushes the volume before its mount at `target` is removed; see mount_point.h. NOT_FOUND if the
  // volume does not exist. Logs other errors unless the call ends; the caller must unmount anyway.
  absl::Status FlushBeforeUnmount(const CallContext& context, const VolumeId& volume,
                                  const ConfinedPath& target);

  // Writes the file system's cache to the disk.
  absl::Status Flush(const CallContext& context, const VolumeId& volume);

  // Remounts the file systems on a disk that were mounted while the disk was read-only. Skips
  // volumes that are marked read-only themselves. REQUIRES: no program uses the disk yet.
  absl::Status MakeWritable(const CallContext& context, const std::vector<VolumeView>& volumes);

 private:
  const HostDeps deps_;
  cim::Session& wmi_;
  StorageNamespace& storage_;
  machine::Os& os_;
};

}  // namespace csi_proxy::host
