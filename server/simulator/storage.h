// Disks, partitions and volumes of a node state, and what can be done to them. Nothing here locks,
// waits or checks a call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/base/volume_id.h"
#include "server/simulator/state.h"

namespace csi_proxy::machine::simulated {

inline constexpr uint64_t kKiB = 1024;
inline constexpr uint64_t kMiB = 1024 * kKiB;
inline constexpr uint64_t kGiB = 1024 * kMiB;

inline constexpr uint32_t kSectorBytes = 512;

// The volume with this letter carries Windows: it cannot be formatted or go offline.
inline constexpr char kSystemDrive = 'C';

// The first offset at which a partition may start; the last must end as far before the end of the
// disk.
inline constexpr uint64_t kDiskMargin = kMiB;
// Protective MBR, header and table; at the end of the disk the table and the header again.
inline constexpr uint64_t kGptBytes = 17 * kKiB;
inline constexpr uint64_t kReservedPartitionBytes = 16 * kMiB;
inline constexpr uint64_t kMinPartitionBytes = 8 * kMiB;

// The disks Windows sees, by number: neither those that are still to arrive or await a rescan nor
// those of a target that is not connected. Valid until a disk comes or goes.
std::vector<Disk*> VisibleDisks(NodeState& state);
// NOT_FOUND when Windows sees no such disk.
absl::StatusOr<Disk*> FindDisk(NodeState& state, uint32_t disk_number);
// The same, also for one without a number in WMI; null when there is none.
Disk* FindVisibleDisk(NodeState& state, uint32_t disk_number);
// Say whether Windows runs on the disk, and whether Windows starts from it.
bool IsBoot(const Disk& disk);
bool IsSystem(const Disk& disk);
// All disks, whether Windows sees them or not.
std::vector<Disk*> AllDisks(NodeState& state);

// The path by which a disk's device is opened, as MSFT_Disk.Path has it, and the disk's number from
// that path, in any case; nothing for any other text.
std::string DevicePath(uint32_t disk_number);
std::optional<uint32_t> DiskNumberOfPath(absl::string_view device_path);
// The number of the disk whose device path is somewhere in a text.
std::optional<uint32_t> DiskNumberIn(absl::string_view text);

// A volume and where it lies; none is null.
struct VolumePlace {
  Disk* disk;
  DiskPartition* partition;
  Volume* volume;
};

// NOT_FOUND when there is none, its disk is offline, or it has yet to arrive.
absl::StatusOr<VolumePlace> FindVolume(NodeState& state, const VolumeId& id);
// The volume with a drive letter; NOT_FOUND likewise.
absl::StatusOr<VolumePlace> FindDrive(NodeState& state, char letter);

// The number of disks and volumes that Windows sees.
size_t CountDevices(NodeState& state);
// The time at which the next one comes by itself; the infinite future when none will.
absl::Time NextArrival(const NodeState& state);

// The size of the file system of a formatted volume.
uint64_t FileSystemBytes(const DiskPartition& partition);

// The bytes that a formatted volume uses: its file system's own structures, 1 KiB for each entry,
// and the files in whole clusters.
uint64_t UsedBytes(const DiskPartition& partition);

// The drives (`D:\`) and folders of drives (`C:\a\b\`) at which a volume is mounted.
std::vector<std::string> MountPointsOf(NodeState& state, const Volume& volume);

// The folder as MountPointsOf() names it; empty on a volume without a letter.
std::string FolderName(const Volume& holder, Tree::Id folder);
// The mount manager goes on listing the folder for the volume, wherever that is; or stops to.
void KeepStaleFolder(NodeState& state, const VolumeId& volume, const std::string& folder);
void ForgetStaleFolder(NodeState& state, const std::string& folder);

// Reads a disk: `size` bytes from `offset`, or as many as there are.
Bytes ReadBytes(const Disk& disk, uint64_t offset, size_t size);
// Forgets what others have written there.
void EraseForeign(Disk& disk, uint64_t offset, uint64_t size);

// Returns whether the volume's file system refuses writes.
bool IsWriteProtected(const VolumePlace& place);
// INTERNAL with Windows' error unless `bytes` more fit and the disk can be written.
absl::Status CheckWritable(const VolumePlace& place, uint64_t bytes, absl::string_view operation);

// Starts the delays after which the mount manager and, later, WMI show a new volume.
void LetVolumeArrive(const NodeState& state, DiskPartition& partition);
// MSFT_Partition.Online: mounts a volume that automount did not mount.
void BringOnline(const NodeState& state, DiskPartition& partition);
// Lets WMI notice the volumes that have arrived.
void RefreshVolumes(Disk& disk);
// Lets Windows notice how large a disk is.
void UpdateSize(Disk& disk);
// Makes growth and new disks visible, and new volumes to WMI.
void Rescan(NodeState& state);

// Returns whether another online disk has the same identity; Windows keeps the later one offline.
bool Collides(NodeState& state, const Disk& disk);
void KeepOffline(Disk& disk);
// Sets or clears the flag of a disk.
void SetReadOnly(const NodeState& state, Disk& disk, bool read_only);
// Gives the disk and its volumes identities of their own; fails for a read-only disk.
absl::Status Resign(NodeState& state, Disk& disk);

// The volumes of a disk that was offline set out to arrive. Fails for a read-only disk that
// collides.
absl::Status TakeOnline(NodeState& state, Disk& disk);
// Fails for the disk that carries Windows.
absl::Status TakeOffline(Disk& disk);
// The file system is mounted anew.
void Remount(const VolumePlace& place);
absl::Status InitializeGpt(Disk& disk);
absl::StatusOr<uint32_t> CreateBasicPartition(NodeState& state, Disk& disk);

struct FormatOptions {
  std::string file_system = "NTFS";
  // 0: the file system's default.
  uint32_t allocation_unit_bytes = 0;
  std::string label = "";
};
// The sizes that a partition may be resized to.
struct SupportedSize {
  uint64_t min_bytes = 0;
  uint64_t max_bytes = 0;
};

absl::Status Format(const VolumePlace& place, const FormatOptions& options);
SupportedSize GetSupportedSize(const NodeState& state, const VolumePlace& place);
absl::Status Resize(const NodeState& state, const VolumePlace& place, uint64_t size_bytes);
// Extends a file system within its partition.
absl::Status ExtendFileSystem(const VolumePlace& place, uint64_t size_bytes);

// A volume id that is a function of where and as what number the volume is made.
VolumeId MakeVolumeId(NodeState& state, const Disk& disk, uint32_t partition_number);

// A GUID in braces, as the GPT of a disk has one, that no other disk gets.
std::string MakeDiskId(NodeState& state, const Disk& disk);

// Puts the disk where the cloud puts it, at `place` or at the first free one: fills in the
// placeholders of its texts. ALREADY_EXISTS when another disk is at the place.
absl::Status PutInPlace(NodeState& state, std::optional<uint32_t> place, Disk& disk);

}  // namespace csi_proxy::machine::simulated
