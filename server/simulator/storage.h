// Disks, partitions and volumes of a node state, and the operations on them. Callers must hold the
// lock of Core, and must have checked the arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"
#include "server/names/volume_id.h"
#include "server/simulator/state.h"

namespace csi_proxy::machine::simulator {

inline constexpr uint64_t kKiB = 1024;
inline constexpr uint64_t kMiB = 1024 * kKiB;
inline constexpr uint64_t kGiB = 1024 * kMiB;

inline constexpr uint32_t kSectorBytes = 512;

// The letter of the volume with Windows. The volume cannot be formatted, and its disk cannot go
// offline.
inline constexpr char kSystemDrive = 'C';

// The distance in bytes that new partitions keep from the start and the end of the disk.
inline constexpr uint64_t kDiskMargin = kMiB;
// The bytes of the protective MBR, the header and the table at the start of a GPT disk with sectors
// of 512 bytes. A second table and header lie at the end of the disk.
inline constexpr uint64_t kGptBytes = 17 * kKiB;
inline constexpr uint64_t kReservedPartitionBytes = 16 * kMiB;
inline constexpr uint64_t kMinPartitionBytes = 8 * kMiB;

// Returns the disks that Windows sees, sorted by number. Windows sees a disk if it has arrived (for
// iSCSI: if its target has a live session) and awaits no rescan. The pointers are valid until a
// disk comes or goes.
std::vector<Disk*> VisibleDisks(NodeState& state);
// Returns a disk. Returns NOT_FOUND if Windows does not see it, or if WMI gives it no number.
absl::StatusOr<Disk*> FindDisk(NodeState& state, uint32_t disk_number);
// Returns a disk, even if WMI gives it no number. Returns null if Windows does not see the disk.
Disk* FindVisibleDisk(NodeState& state, uint32_t disk_number);
// IsBoot() returns true if Windows runs on the disk, IsSystem() if Windows starts from it.
bool IsBoot(const Disk& disk);
bool IsSystem(const Disk& disk);
// Returns all disks, visible to Windows or not.
std::vector<Disk*> AllDisks(NodeState& state);

// DevicePath() returns the path of a disk's device, as in MSFT_Disk.Path. DiskNumberOfPath()
// returns the number of the disk with that path, ignoring case; nullopt for any other text.
std::string DevicePath(uint32_t disk_number);
std::optional<uint32_t> DiskNumberOfPath(absl::string_view device_path);
// Returns the number of the disk whose device path `text` contains; nullopt if it contains none.
std::optional<uint32_t> DiskNumberIn(absl::string_view text);

// A volume, its partition and its disk. REQUIRES: no pointer is null.
struct VolumePlace {
  Disk* disk;
  DiskPartition* partition;
  Volume* volume;
};

// Returns a volume. Returns NOT_FOUND if the id is unknown, if the disk is offline or Windows does
// not see it, or if the volume has not arrived.
absl::StatusOr<VolumePlace> FindVolume(NodeState& state, const VolumeId& id);
// Returns the volume with a drive letter, or NOT_FOUND like FindVolume().
absl::StatusOr<VolumePlace> FindDrive(NodeState& state, char letter);

// Returns the number of disks and volumes that Windows sees.
size_t CountDevices(NodeState& state);
// Returns when the next disk or volume arrives without a rescan, or the infinite future.
SteadyTime NextArrival(const NodeState& state);

// Returns the size of a volume's file system. REQUIRES: the volume is formatted.
uint64_t FileSystemBytes(const DiskPartition& partition);

// Returns the bytes that a formatted volume uses: its file system's own structures, 1 KiB for each
// entry, and the files in whole clusters.
uint64_t UsedBytes(const DiskPartition& partition);

// Returns a volume's mount points as the mount manager lists them: drives (`D:\`) and folders of
// drives (`C:\a\b\`), also below the folders of other volumes.
std::vector<std::string> MountPointsOf(NodeState& state, const Volume& volume);

// Returns the name that MountPointsOf() gives a folder of the volume `holder`; empty if `holder`
// has no drive letter.
std::string FolderName(const Volume& holder, Tree::Id folder);
// KeepStaleFolder() makes the mount manager go on listing `folder` as a mount point of `volume`.
// ForgetStaleFolder() removes such entries of `folder` from all volumes.
void KeepStaleFolder(NodeState& state, const VolumeId& volume, const std::string& folder);
void ForgetStaleFolder(NodeState& state, const std::string& folder);

// Reads `size` bytes of a disk from `offset`, or fewer at its end.
Bytes ReadBytes(const Disk& disk, uint64_t offset, size_t size);
// Removes the pieces of `disk.foreign` that begin in a range.
void EraseForeign(Disk& disk, uint64_t offset, uint64_t size);

// Returns true if the volume's file system refuses writes.
bool IsWriteProtected(const VolumePlace& place);
// Returns INTERNAL with Windows' error if the volume's file system refuses writes, or has no space
// for a new entry of `bytes`.
absl::Status CheckWritable(const VolumePlace& place, uint64_t bytes, absl::string_view operation);

// Starts the delays until the mount manager and, later, WMI show a new volume.
void LetVolumeArrive(const NodeState& state, DiskPartition& partition);
// Implements MSFT_Partition.Online: mounts a volume that automount did not mount.
void BringOnline(const NodeState& state, DiskPartition& partition);
// Makes WMI notice the volumes that have arrived.
void RefreshVolumes(Disk& disk);
// Makes Windows notice the disk's size.
void UpdateSize(Disk& disk);
// Makes Windows notice new disks and sizes, and WMI the volumes that have arrived.
void Rescan(NodeState& state);

// Returns true if another online disk has the same `disk_id`. Windows keeps the later disk offline.
bool Collides(NodeState& state, const Disk& disk);
void KeepOffline(Disk& disk);
// Sets or clears a disk's read-only flag, and applies Behaviour::clearing_read_only_remounts.
void SetReadOnly(const NodeState& state, Disk& disk, bool read_only);
// Gives the disk and its volumes new identities. Fails for a read-only disk.
absl::Status Resign(NodeState& state, Disk& disk);

// Brings a disk online, so that its volumes begin to arrive. First calls Resign() if the disk
// Collides(), and fails if Resign() fails.
absl::Status TakeOnline(NodeState& state, Disk& disk);
// Takes a disk offline. Fails for a disk that Windows runs on or starts from.
absl::Status TakeOffline(Disk& disk);
// Mounts the file system again: read-only if the disk is read-only.
void Remount(const VolumePlace& place);
absl::Status InitializeGpt(Disk& disk);
absl::StatusOr<uint32_t> CreateBasicPartition(NodeState& state, Disk& disk);

struct FormatOptions {
  std::string file_system = "NTFS";
  // 0 means the file system's default.
  uint32_t allocation_unit_bytes = 0;
  std::string label = "";
};
// The limits for resizing a partition.
struct SupportedSize {
  uint64_t min_bytes = 0;
  uint64_t max_bytes = 0;
};

absl::Status Format(const VolumePlace& place, const FormatOptions& options);
SupportedSize GetSupportedSize(const NodeState& state, const VolumePlace& place);
absl::Status Resize(const NodeState& state, const VolumePlace& place, uint64_t size_bytes);
// Extends a file system within its partition.
absl::Status ExtendFileSystem(const VolumePlace& place, uint64_t size_bytes);

// Makes a volume id that no volume has, from the disk, the partition's number and a counter.
VolumeId MakeVolumeId(NodeState& state, const Disk& disk, uint32_t partition_number);

// Makes an id for a disk, a GUID in braces. No other disk gets the same id.
std::string MakeDiskId(NodeState& state, const Disk& disk);

// Gives the disk a place in the cloud (Attach of node.proto), and fills in the placeholders of
// the disk's texts. Without `place`, takes the first free place. Returns ALREADY_EXISTS if another
// disk has `place`.
absl::Status AssignLocation(NodeState& state, std::optional<uint32_t> place, Disk& disk);

}  // namespace csi_proxy::machine::simulator
