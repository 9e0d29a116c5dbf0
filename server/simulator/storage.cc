#include "server/simulator/storage.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/numeric/bits.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "csi_proxy/steady_time.h"
#include "server/base/status_macros.h"
#include "server/names/win32_error.h"
#include "server/names/windows_path.h"

namespace csi_proxy::machine::simulator {
namespace {

constexpr size_t kMaxMbrPartitions = 4;
constexpr size_t kMaxGptPartitions = 128;
constexpr uint64_t kEntryBytes = kKiB;

constexpr const char* kFileSystems[] = {"NTFS", "ReFS", "FAT32", "exFAT"};

// Returns the size of the file system's own structures: a sixteenth of the volume, at most 32 MiB.
uint64_t OwnBytes(uint64_t size_bytes) { return std::min(size_bytes / 16, 32 * kMiB); }

// The texts around the number in a device path. The GUID is GUID_DEVINTERFACE_DISK.
constexpr absl::string_view kDevicePrefix = R"(\\?\scsi#disk&ven_simulated&prod_disk#)";
constexpr absl::string_view kDeviceDigits = "&prod_disk#";
constexpr absl::string_view kDeviceSuffix = "#{53f56307-b6bf-11d0-94f2-00a0c91efb8b}";

uint64_t AlignUp(uint64_t value) { return (value + kMiB - 1) / kMiB * kMiB; }
uint64_t AlignDown(uint64_t value) { return value / kMiB * kMiB; }

// Returns the first byte that no partition may use. An MBR counts sectors in 32 bits, so the space
// behind the first 2 TiB of 512-byte sectors is lost
// (learn.microsoft.com/troubleshoot/windows-server/backup-and-storage/support-for-hard-disks-exceeding-2-tb).
uint64_t UsableEnd(const Disk& disk) {
  uint64_t size = disk.size_bytes;
  if (disk.style == PartitionStyle::kMbr) {
    size = std::min(size, (uint64_t{1} << 32) * disk.sector_bytes);
  }
  return size > kDiskMargin ? AlignDown(size - kDiskMargin) : 0;
}

// Returns the end of the space behind `offset` that no partition uses.
uint64_t FreeUntil(const Disk& disk, uint64_t offset) {
  uint64_t end = UsableEnd(disk);
  for (const DiskPartition& other : disk.partitions) {
    if (other.offset_bytes >= offset) end = std::min(end, AlignDown(other.offset_bytes));
  }
  return end;
}

absl::Status CheckDiskWritable(const Disk& disk, absl::string_view operation) {
  if (!disk.online) return Failure(operation, kStorageDiskOffline);
  if (disk.read_only) return Failure(operation, kStorageDiskReadOnly);
  return absl::OkStatus();
}

uint32_t FreePartitionNumber(const Disk& disk) {
  uint32_t number = 1;
  const auto taken = [&](const DiskPartition& p) { return p.number == number; };
  while (std::any_of(disk.partitions.begin(), disk.partitions.end(), taken)) ++number;
  return number;
}

void AddPartition(Disk& disk, DiskPartition partition) {
  const auto behind =
      std::find_if(disk.partitions.begin(), disk.partitions.end(),
                   [&](const DiskPartition& p) { return p.offset_bytes > partition.offset_bytes; });
  disk.partitions.insert(behind, std::move(partition));
}

// Hashes with FNV-1a and a last mix, which spreads similar inputs. Ids are stable, but not secret.
uint64_t Hash(absl::string_view text, uint64_t seed) {
  uint64_t hash = 0xcbf29ce484222325 ^ seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash = (hash ^ absl::rotr(hash, 31)) * 0xbf58476d1ce4e5b9;
  return hash ^ absl::rotr(hash, 27);
}

}  // namespace

std::string DevicePath(uint32_t disk_number) {
  return absl::StrFormat("%s%06d%s", kDevicePrefix, disk_number, kDeviceSuffix);
}

std::optional<uint32_t> DiskNumberOfPath(absl::string_view device_path) {
  if (device_path.size() <= kDevicePrefix.size() + kDeviceSuffix.size()) return std::nullopt;
  uint32_t number = 0;
  if (!absl::SimpleAtoi(
          device_path.substr(kDevicePrefix.size(),
                             device_path.size() - kDevicePrefix.size() - kDeviceSuffix.size()),
          &number)) {
    return std::nullopt;
  }
  // Accepts only the canonical spelling, not `+1`.
  if (!absl::EqualsIgnoreCase(device_path, DevicePath(number))) return std::nullopt;
  return number;
}

std::optional<uint32_t> DiskNumberIn(absl::string_view text) {
  const size_t begin = text.find(kDeviceDigits);
  if (begin == absl::string_view::npos) return std::nullopt;
  text.remove_prefix(begin + kDeviceDigits.size());
  uint32_t number = 0;
  if (!absl::SimpleAtoi(text.substr(0, text.find('#')), &number)) return std::nullopt;
  return number;
}

uint64_t FileSystemBytes(const DiskPartition& partition) {
  const uint64_t size = partition.volume->file_system_bytes;
  return size != 0 ? size : partition.size_bytes;
}

uint64_t UsedBytes(const DiskPartition& partition) {
  const Tree& tree = partition.volume->tree;
  return OwnBytes(FileSystemBytes(partition)) + tree.size() * kEntryBytes + tree.file_bytes();
}

bool IsWriteProtected(const VolumePlace& place) {
  return place.disk->read_only || place.partition->mounted_read_only || place.volume->read_only;
}

absl::Status CheckWritable(const VolumePlace& place, uint64_t bytes, absl::string_view operation) {
  if (IsWriteProtected(place)) return Failure(operation, win32_error::kWriteProtect);
  const uint64_t used = UsedBytes(*place.partition) + kEntryBytes;
  const uint64_t size = FileSystemBytes(*place.partition);
  if (used > size || bytes > size - used || Tree::RoundedSize(bytes) > size - used) {
    return Failure(operation, win32_error::kDiskFull);
  }
  return absl::OkStatus();
}

void LetVolumeArrive(const NodeState& state, DiskPartition& partition) {
  partition.arrives_at = SteadyTime::Now() + state.volume_arrival_delay;
  partition.cached_at = partition.arrives_at + state.behaviour.volume_cache_delay;
}

void BringOnline(const NodeState& state, DiskPartition& partition) {
  if (!std::exchange(partition.awaits_online, false)) return;
  LetVolumeArrive(state, partition);
}

void RefreshVolumes(Disk& disk) {
  const SteadyTime now = SteadyTime::Now();
  for (DiskPartition& partition : disk.partitions) {
    if (partition.arrives_at <= now) partition.cached_at = SteadyTime::InfinitePast();
  }
}

void UpdateSize(Disk& disk) {
  if (disk.grown_size_bytes != 0) disk.size_bytes = std::exchange(disk.grown_size_bytes, 0);
}

void Rescan(NodeState& state) {
  for (Disk* disk : AllDisks(state)) disk->awaits_rescan = false;
  for (Disk* disk : VisibleDisks(state)) {
    UpdateSize(*disk);
    RefreshVolumes(*disk);
  }
}

namespace {
bool HoldsSystemDrive(const Disk& disk) {
  return std::any_of(
      disk.partitions.begin(), disk.partitions.end(), [](const DiskPartition& partition) {
        return partition.volume.has_value() && partition.volume->drive_letter == kSystemDrive;
      });
}
}  // namespace

bool IsBoot(const Disk& disk) { return disk.facts.is_boot || HoldsSystemDrive(disk); }
bool IsSystem(const Disk& disk) { return disk.facts.is_system || HoldsSystemDrive(disk); }

absl::Status TakeOnline(NodeState& state, Disk& disk) {
  if (disk.online) return absl::OkStatus();
  if (Collides(state, disk)) {
    ABSL_RETURN_IF_ERROR(Resign(state, disk));
  }
  disk.online = true;
  disk.facts.offline_reason = 0;
  if (state.behaviour.online_makes_read_only) disk.read_only = true;
  for (DiskPartition& partition : disk.partitions) {
    if (!partition.volume.has_value()) continue;
    LetVolumeArrive(state, partition);
    partition.mounted_read_only = disk.read_only;
  }
  return absl::OkStatus();
}

void SetReadOnly(const NodeState& state, Disk& disk, bool read_only) {
  const bool remounts = std::exchange(disk.read_only, read_only) && !read_only && disk.online &&
                        state.behaviour.clearing_read_only_remounts;
  for (DiskPartition& partition : disk.partitions) {
    if (!remounts || !partition.volume.has_value()) continue;
    LetVolumeArrive(state, partition);
    partition.mounted_read_only = false;
  }
}

void Remount(const VolumePlace& place) {
  place.partition->mounted_read_only = place.disk->read_only;
}

absl::Status TakeOffline(Disk& disk) {
  if (IsBoot(disk) || IsSystem(disk)) {
    return Failure(absl::StrCat("taking disk ", disk.number, " offline"), kStorageCriticalDisk);
  }
  disk.online = false;
  for (DiskPartition& partition : disk.partitions) partition.mounted_read_only = false;
  return absl::OkStatus();
}

absl::Status InitializeGpt(Disk& disk) {
  const std::string operation = absl::StrCat("initializing disk ", disk.number);
  ABSL_RETURN_IF_ERROR(CheckDiskWritable(disk, operation));
  if (disk.style != PartitionStyle::kRaw) return Failure(operation, kStorageAlreadyInitialized);
  if (disk.size_bytes < 2 * kDiskMargin + kReservedPartitionBytes + kMinPartitionBytes) {
    return Failure(operation, kStorageDiskTooSmall);
  }
  disk.style = PartitionStyle::kGpt;
  disk.partitions.clear();
  EraseForeign(disk, 0, kGptBytes);
  EraseForeign(disk, disk.size_bytes - kGptBytes, kGptBytes);
  // Windows first makes a Microsoft reserved partition on every GPT data disk.
  DiskPartition reserved;
  reserved.number = 1;
  reserved.type = PartitionType::kMicrosoftReserved;
  reserved.offset_bytes = kDiskMargin;
  reserved.size_bytes = kReservedPartitionBytes;
  AddPartition(disk, std::move(reserved));
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> CreateBasicPartition(NodeState& state, Disk& disk) {
  const std::string operation = absl::StrCat("creating a partition on disk ", disk.number);
  ABSL_RETURN_IF_ERROR(CheckDiskWritable(disk, operation));
  if (disk.style == PartitionStyle::kRaw) return Failure(operation, kStorageNotInitialized);
  const size_t limit = disk.style == PartitionStyle::kMbr ? kMaxMbrPartitions : kMaxGptPartitions;
  if (disk.partitions.size() >= limit) return Failure(operation, kStoragePartitionLimit);

  DiskPartition partition;
  const auto consider = [&](uint64_t offset) {
    const uint64_t end = FreeUntil(disk, offset);
    if (end > offset && end - offset > partition.size_bytes) {
      partition.offset_bytes = offset;
      partition.size_bytes = end - offset;
    }
  };
  consider(kDiskMargin);
  for (const DiskPartition& other : disk.partitions) {
    consider(AlignUp(other.offset_bytes + other.size_bytes));
  }
  if (partition.size_bytes < kMinPartitionBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat("disk ", disk.number, " has no free space for a partition"));
  }
  partition.number = FreePartitionNumber(disk);
  partition.awaits_online = state.behaviour.automount_disabled;
  LetVolumeArrive(state, partition);
  partition.volume = Volume{MakeVolumeId(state, disk, partition.number), "", 0, Tree()};
  const uint32_t number = partition.number;
  AddPartition(disk, std::move(partition));
  return number;
}

absl::Status Format(const VolumePlace& place, const FormatOptions& options) {
  const std::string operation = absl::StrCat("formatting volume ", place.volume->id.ToString());
  if (IsWriteProtected(place)) return Failure(operation, win32_error::kWriteProtect);
  if (place.volume->drive_letter == kSystemDrive)
    return Failure(operation, kStorageSystemPartition);
  const auto* known = std::find_if(
      std::begin(kFileSystems), std::end(kFileSystems),
      [&](const char* name) { return FoldName(name) == FoldName(options.file_system); });
  if (known == std::end(kFileSystems)) return Failure(operation, kStorageFileSystemNotSupported);
  const uint32_t unit = options.allocation_unit_bytes;
  if (unit != 0 && (!absl::has_single_bit(unit) || unit < 512 || unit > 2 * kMiB)) {
    return Failure(operation, kStorageBadClusterSize);
  }
  if (unit % place.disk->sector_bytes != 0) return Failure(operation, kStorageClusterBelowSector);
  place.volume->file_system = *known;
  place.volume->tree = Tree();
  place.volume->label = options.label;
  place.volume->health = 0;
  place.volume->dirty = false;
  place.volume->file_system_bytes = 0;
  place.volume->allocation_unit_bytes = unit;
  EraseForeign(*place.disk, place.partition->offset_bytes, place.partition->size_bytes);
  return absl::OkStatus();
}

SupportedSize GetSupportedSize(const NodeState& state, const VolumePlace& place) {
  const DiskPartition& partition = *place.partition;
  SupportedSize size;
  // The double does not shrink a volume without a file system.
  size.min_bytes = place.volume->file_system.empty()
                       ? partition.size_bytes
                       : std::min(partition.size_bytes,
                                  std::max(AlignUp(UsedBytes(partition)), kMinPartitionBytes));
  uint64_t end = FreeUntil(*place.disk, partition.offset_bytes + partition.size_bytes);
  end -= std::min(end, state.behaviour.resize_reserve_bytes);
  // NTFS's largest size (learn.microsoft.com/windows-server/storage/file-server/ntfs-overview).
  if (place.volume->file_system == "NTFS") {
    const uint64_t unit = std::max<uint64_t>(place.volume->allocation_unit_bytes, 4096);
    end = std::min(end, partition.offset_bytes + AlignDown(((uint64_t{1} << 32) - 1) * unit));
  }
  size.max_bytes = std::max(partition.size_bytes,
                            end > partition.offset_bytes ? end - partition.offset_bytes : 0);
  return size;
}

absl::Status Resize(const NodeState& state, const VolumePlace& place, uint64_t size_bytes) {
  const std::string operation = absl::StrCat("resizing volume ", place.volume->id.ToString());
  ABSL_RETURN_IF_ERROR(CheckDiskWritable(*place.disk, operation));
  // "The resize operation is supported only on NTFS-formatted partitions and RAW partitions"
  // (learn.microsoft.com/windows-hardware/drivers/storage/msft-partition-resize).
  const std::string& file_system = place.volume->file_system;
  if (!file_system.empty() && file_system != "NTFS") {
    return Failure(operation, kStorageUnknownFileSystem);
  }
  const SupportedSize supported = GetSupportedSize(state, place);
  if (size_bytes < supported.min_bytes || size_bytes > supported.max_bytes) {
    return Failure(operation, kStorageSizeNotSupported);
  }
  place.partition->size_bytes = size_bytes;
  place.volume->file_system_bytes = 0;
  return absl::OkStatus();
}

absl::Status ExtendFileSystem(const VolumePlace& place, uint64_t size_bytes) {
  const std::string operation = absl::StrCat("extending volume ", place.volume->id.ToString());
  if (IsWriteProtected(place)) return Failure(operation, win32_error::kWriteProtect);
  if (place.volume->file_system != "NTFS" && place.volume->file_system != "ReFS") {
    return Failure(operation, win32_error::kInvalidFunction);
  }
  if (size_bytes <= FileSystemBytes(*place.partition) || size_bytes > place.partition->size_bytes) {
    return Failure(operation, win32_error::kInvalidParameter);
  }
  place.volume->file_system_bytes = size_bytes == place.partition->size_bytes ? 0 : size_bytes;
  return absl::OkStatus();
}

VolumeId MakeVolumeId(NodeState& state, const Disk& disk, uint32_t partition_number) {
  const auto in_use = [&](const VolumeId& id) {
    for (const Disk* other : AllDisks(state)) {
      for (const DiskPartition& partition : other->partitions) {
        if (partition.volume.has_value() && partition.volume->id == id) return true;
      }
    }
    return false;
  };
  while (true) {
    const std::string seed = absl::StrCat(disk.number, "/", partition_number, "/",
                                          disk.serial_number, "/", state.volumes_made++);
    const uint64_t high = Hash(seed, 1);
    const uint64_t low = Hash(seed, 2);
    const absl::StatusOr<VolumeId> id = VolumeId::Parse(
        absl::StrFormat("\\\\?\\Volume{%08x-%04x-%04x-%04x-%012x}\\", high >> 32,
                        (high >> 16) & 0xffff, high & 0xffff, low >> 48, low & 0xffffffffffff));
    if (!in_use(*id)) return *id;
  }
}

}  // namespace csi_proxy::machine::simulator
