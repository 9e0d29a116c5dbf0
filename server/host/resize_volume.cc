// Grows volumes: a partition with its file system through WMI, a file system alone through Win32.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/fallbacks.h"
#include "server/base/status_macros.h"
#include "server/host/devices.h"
#include "server/host/find_volume.h"
#include "server/host/volume_host.h"
#include "server/host/windows_use.h"
#include "server/machine/cim/errors.h"
#include "server/names/win32_error.h"

namespace csi_proxy::host {
namespace {

using cim::Value;

constexpr uint64_t kBytesPerMiB = uint64_t{1} << 20;
// The copy of the GPT at the end of a disk: 32 sectors of table and one of header, of at most 4 KiB
// each
// (learn.microsoft.com/windows-hardware/manufacture/desktop/configure-uefigpt-based-hard-drive-partitions).
constexpr uint64_t kGptCopy = 33 * 4096;
// The end of the space, in bytes, that a partition of an MBR disk may use: an MBR counts sectors in
// 32 bits. Windows initialises a disk of this size as MBR only if its sectors have 512 bytes
// (learn.microsoft.com/troubleshoot/windows-server/backup-and-storage/support-for-hard-disks-exceeding-2-tb).
constexpr uint64_t kMbrEnd = (uint64_t{512} << 32) - kBytesPerMiB;
// An obstacle to growth is reported only if at least this many bytes are unused at the end of the
// disk. A file system is extended only if its partition is larger by at least this many bytes. The
// value exceeds the sum of a cluster and the copy of the boot sector.
constexpr uint64_t kGap = 100 * kBytesPerMiB;

// Returns the partitions of a disk, or FAILED_PRECONDITION if the disk is Windows' own.
absl::StatusOr<std::vector<cim::Object>> Partitions(cim::Session& wmi, const CallContext& context,
                                                    uint32_t disk_number) {
  ABSL_ASSIGN_OR_RETURN(auto partitions, ListMsftPartitions(wmi, context, disk_number));
  // A disk is Windows' own if one of its partitions is.
  DiskDescription disk;
  disk.number = disk_number;
  for (const cim::Object& partition : partitions) {
    disk.is_boot |= IsOrMayBe(partition, "IsBoot");
    disk.is_system |= IsOrMayBe(partition, "IsSystem");
  }
  ABSL_RETURN_IF_ERROR(CheckNotWindows(disk));
  return partitions;
}

bool IsSizeNotSupported(const absl::StatusOr<cim::MethodResult>& result) {
  return result.ok() && result->return_value == cim::kSizeNotSupported;
}

// Returns the largest size that MSFT_Partition.GetSupportedSize reports for a partition.
absl::StatusOr<uint64_t> WindowsOwnMaximum(StorageNamespace& storage, const CallContext& context,
                                           const std::string& partition) {
  ABSL_ASSIGN_OR_RETURN(const auto supported,
                        storage.Invoke(context, partition, "GetSupportedSize"));
  const absl::Status status = cim::StorageStatus("measuring the partition", supported);
  if (!status.ok()) return status;
  return supported.out.GetUint64("SizeMax");
}

}  // namespace

// Computes the room from the partitions. Does not call MSFT_Partition.GetSupportedSize, because
// it also measures how far the volume could shrink, and it fails if the service that optimises
// drives is disabled or busy (kubernetes-sigs/aws-ebs-csi-driver issue 2877).
absl::StatusOr<GrowthRoom> VolumeHost::GetGrowthRoom(const CallContext& context,
                                                     const VolumeView& volume) {
  ABSL_ASSIGN_OR_RETURN(const machine::DiskExtent extent, ExtentOf(volume));
  ABSL_RETURN_IF_ERROR(CheckNotDynamic(os_, volume.id.ToString(), extent.disk_number));
  UpdateDiskLength(os_, extent.disk_number);
  ABSL_ASSIGN_OR_RETURN(const uint64_t disk_bytes, GetDiskLength(os_, extent.disk_number));
  ABSL_ASSIGN_OR_RETURN(const auto partitions, Partitions(wmi_, context, extent.disk_number));
  uint64_t end = disk_bytes > kGptCopy ? disk_bytes - kGptCopy : 0;
  uint64_t last_used = 0;
  GrowthRoom room;
  for (const cim::Object& partition : partitions) {
    ABSL_ASSIGN_OR_RETURN(const auto offset, partition.GetUint64("Offset"));
    last_used = std::max(last_used, offset + partition.GetUint64("Size").value_or(0));
    if (partition.GetUint32("MbrType").value_or(0) != 0 && end > kMbrEnd) {
      end = kMbrEnd;
      room.obstacle = absl::StrCat("disk ", extent.disk_number,
                                   " has an MBR, of which Windows uses 2 TiB at most");
    }
    if (offset == extent.offset) room.object = partition.path();
    if (offset <= extent.offset || offset >= end) continue;
    end = offset;
    room.obstacle = absl::StrCat("partition ", partition.GetUint32("PartitionNumber").value_or(0),
                                 " of disk ", extent.disk_number, " follows the volume's");
  }
  if (disk_bytes < last_used + kGap) room.obstacle.clear();
  // Rounds down to MiB, because Windows adds at least 1 MiB.
  const uint64_t bytes =
      end > extent.offset ? (end - extent.offset) / kBytesPerMiB * kBytesPerMiB : 0;
  room.size_bytes = std::max(bytes, extent.length);
  return room;
}

absl::Status VolumeHost::Resize(const CallContext& context, const VolumeView& volume,
                                const GrowthRoom& room, uint64_t size_bytes, ResizeTo how) {
  const std::string operation = absl::StrCat("resizing volume ", volume.id.ToString());
  if (room.object.empty()) {
    return absl::InternalError(
        absl::StrCat(operation, ": WMI shows no partition at the volume's offset"));
  }
  // Awaits Resize calls whose callers have left: a late one would shrink the partition again.
  const std::string name = absl::StrCat("the size of volume ", volume.id.ToString());
  ABSL_RETURN_IF_ERROR(deps_.setups->Await(context, name, DetachedRuns::Whose::kLeft));
  const auto resize = [&](uint64_t bytes) -> absl::StatusOr<cim::MethodResult> {
    const auto result = std::make_shared<absl::StatusOr<cim::MethodResult>>();
    ABSL_RETURN_IF_ERROR(deps_.setups->Run(
        context, {name},
        [&storage = storage_, path = room.object, bytes, result](const CallContext& run) {
          *result = storage.Invoke(run, path, "Resize", {{"Size", Value::Uint64(bytes)}});
          return absl::OkStatus();
        }));
    return *std::move(result);
  };
  absl::StatusOr<cim::MethodResult> result = resize(size_bytes);
  // The provider may still have the disk's old size.
  if (IsSizeNotSupported(result) && storage_.UpdateCache(context).ok()) {
    RecordFallback(Fallback::kResizeRepeated);
    result = resize(size_bytes);
  }
  // Windows may reserve more space than was computed.
  if (IsSizeNotSupported(result) && how == ResizeTo::kAtMost) {
    RecordFallback(Fallback::kWindowsOwnMaximum);
    const absl::StatusOr<uint64_t> most = WindowsOwnMaximum(storage_, context, room.object);
    if (most.ok() && *most <= volume.extents.front().length) return absl::OkStatus();
    if (most.ok() && *most < size_bytes) result = resize(*most);
  }
  if (!result.ok()) return Prefixed(operation, result.status());
  // Windows cannot resize this file system (FAT32 of old drivers), so the volume cannot become
  // larger (learn.microsoft.com/windows-hardware/drivers/storage/msft-partition-resize).
  if (result->return_value == cim::kUnknownFileSystem && how == ResizeTo::kAtMost) {
    return absl::OkStatus();
  }
  return cim::StorageStatus(operation, *result);
}

absl::StatusOr<bool> VolumeHost::ExtendFileSystem(const CallContext& context,
                                                  const VolumeView& volume, uint64_t size_bytes) {
  ABSL_ASSIGN_OR_RETURN(const machine::DiskExtent extent, ExtentOf(volume));
  const std::string name = volume.id.ToString();
  const auto file_system = os_.GetFileSystem(name);
  if (!file_system.ok() || file_system->name != "NTFS") return false;
  const absl::StatusOr<machine::VolumeSpace> space = os_.GetSpace(name);
  if (!space.ok()) return VolumeError(volume.id, "measuring", space.status());
  const uint64_t total = space->total_bytes;
  if (total + kGap > extent.length || (size_bytes != 0 && size_bytes <= total)) return false;
  const auto disk = FindMsftDisk(wmi_, context, extent.disk_number);
  if (!disk.ok()) return VolumeError(volume.id, "extending the file system of", disk.status());
  const uint32_t sector =
      disk->has_value() ? (*disk)->GetUint32("LogicalSectorSize").value_or(0) : 0;
  if (sector == 0) return false;
  const absl::Status extended = ExtendVolume(os_, name, extent.length / sector);
  if (extended.ok()) {
    RecordFallback(Fallback::kFileSystemExtended);
    return true;
  }
  RecordFallback(
      IsDeviceFailure(extended) ? Fallback::kDiskDoesNotAnswer : Fallback::kFileSystemNotExtended,
      extended.message());
  return VolumeError(volume.id, "extending the file system of", extended);
}

}  // namespace csi_proxy::host
