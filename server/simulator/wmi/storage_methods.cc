// Disks, partitions and volumes. Besides 41002 and 41003, methods return only values of their pages
// (learn.microsoft.com/windows-hardware/drivers/storage/createpartition-msft-disk and siblings).
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/names/win32_error.h"
#include "server/simulator/resolver.h"
#include "server/simulator/storage.h"
#include "server/simulator/wmi/methods.h"
#include "server/simulator/wmi/objects.h"

namespace csi_proxy::machine::simulator::wmi {
namespace {

using cim::Value;

constexpr uint32_t kInvalidParameter = 5;
constexpr uint32_t kInUse = 6;
constexpr uint32_t kObjectNotFound = 8;
constexpr uint32_t kNoCapacity = 40000;
constexpr uint32_t kSizeOrMaximum = 40005;
constexpr uint32_t kWrongPartitionType = 41006;
constexpr uint32_t kBadPartitionType = 41010;
constexpr uint32_t kDriveReadOnly = 43006;

constexpr uint64_t kStyleMbr = 1;
constexpr uint64_t kStyleGpt = 2;

// Converts the status of the node's function to the method's answer.
cim::MethodResult Answer(const Call& call, const absl::Status& status, cim::Properties out = {}) {
  if (status.ok()) return Done(call.method, std::move(out));
  return Refused(call.method, Win32CodeOf(status).value_or(kObjectNotFound), status.message());
}

cim::MethodResult NotSupported(const Call& call, absl::string_view what) {
  return Refused(call.method, kNotSupported, absl::StrCat("the simulated node has no ", what));
}

// Returns the disk of `self`. Cannot fail, because `self` was found in this state.
Disk& DiskOf(const Call& call) {
  const uint32_t number = *DiskNumberOfPath(*call.self.GetString("Path"));
  return *FindVisibleDisk(call.state, number);
}

// Returns the disk of a partition.
Disk& DiskBelow(const Call& call) {
  return **FindDisk(call.state, *call.self.GetUint32("DiskNumber"));
}

DiskPartition& PartitionOf(const Call& call, Disk& disk) {
  const uint32_t number = *call.self.GetUint32("PartitionNumber");
  return *std::find_if(disk.partitions.begin(), disk.partitions.end(),
                       [&](const DiskPartition& partition) { return partition.number == number; });
}

VolumePlace VolumeOf(const Call& call) {
  return *FindVolume(call.state, *VolumeId::Parse(*call.self.GetString("UniqueId")));
}

Outcome Initialize(const Call& call) {
  const uint64_t style = call.Number("PartitionStyle", kStyleGpt);
  if (style == kStyleMbr) return NotSupported(call, "MBR disks to be initialised");
  if (style != kStyleGpt) return Refused(call.method, kInvalidParameter, "no such style");
  return Answer(call, InitializeGpt(DiskOf(call)));
}

Outcome CreatePartition(const Call& call) {
  Disk& disk = DiskOf(call);
  // The caller must give either a size or UseMaximumSize.
  if ((call.Number("Size") != 0) == call.Flag("UseMaximumSize")) {
    return Refused(call.method, kSizeOrMaximum, "Size or UseMaximumSize");
  }
  if (call.Has("DriveLetter") && call.Flag("AssignDriveLetter")) {
    return Refused(call.method, kInvalidParameter, "DriveLetter or AssignDriveLetter");
  }
  const bool is_mbr = disk.style == PartitionStyle::kMbr;
  if (call.Has(is_mbr ? "GptType" : "MbrType")) {
    return Refused(call.method, kWrongPartitionType, "a type of the other partition style");
  }
  if ((call.Has("GptType") && !absl::EqualsIgnoreCase(call.Text("GptType"), kBasicData)) ||
      call.Number("MbrType", kMbrIfs) != kMbrIfs) {
    return Refused(call.method, kBadPartitionType, "not the basic data type");
  }
  for (const char* extra : {"Size", "Offset", "Alignment", "DriveLetter"}) {
    if (call.Has(extra)) return NotSupported(call, extra);
  }
  for (const char* extra : {"AssignDriveLetter", "IsHidden", "IsActive"}) {
    if (call.Flag(extra)) return NotSupported(call, extra);
  }
  const absl::StatusOr<uint32_t> number = CreateBasicPartition(call.state, disk);
  if (absl::IsFailedPrecondition(number.status())) {
    return Refused(call.method, kNoCapacity, number.status().message());
  }
  if (!number.ok()) return Answer(call, number.status());
  for (const DiskPartition& partition : disk.partitions) {
    if (partition.number != *number) continue;
    return Done(call.method, {{"CreatedPartition",
                               Value::Embedded(PartitionObject(call.state, disk, partition))}});
  }
  return Refused(call.method, kObjectNotFound, "the new partition");
}

// Makes WMI show new volumes of the disk. The double has no copy of the layout to refresh. Does not
// notice that the disk has grown.
Outcome Refresh(const Call& call) {
  Disk& disk = DiskOf(call);
  const std::string operation = absl::StrCat("refreshing disk ", disk.number);
  if (!disk.online) return Answer(call, Failure(operation, kStorageDiskOffline));
  if (disk.style == PartitionStyle::kRaw) {
    return Answer(call, Failure(operation, kStorageNotInitialized));
  }
  RefreshVolumes(disk);
  return Done(call.method);
}

// Brings the disk online. A read-only disk stays read-only.
Outcome Online(const Call& call) {
  const absl::Status status = TakeOnline(call.state, DiskOf(call));
  if (HasWin32Code(status, win32_error::kInvalidParameter)) {
    return Refused(call.method, kInvalidParameter, status.message());
  }
  return Answer(call, status);
}

bool HasOpenFiles(NodeState& state, const Disk& disk) {
  return std::any_of(state.other_opens.begin(), state.other_opens.end(),
                     [&](const OtherOpen& open) {
                       const auto path = WindowsPath::Parse("path", open.path);
                       const auto at = path.ok() ? Resolve(state, *path, false) : path.status();
                       return at.ok() && at->place.has_value() && at->place->disk == &disk;
                     });
}

// Takes the disk offline. Besides general errors, Windows documents 6, 41009 and 41018
// (learn.microsoft.com/windows-hardware/drivers/storage/msft-disk-offline). The double itself
// returns only 6 and 41009. A fault rule can return any error.
Outcome Offline(const Call& call) {
  Disk& disk = DiskOf(call);
  if (call.state.behaviour.open_files_keep_online && HasOpenFiles(call.state, disk)) {
    return Refused(call.method, kInUse, "a file of the disk is open");
  }
  return Answer(call, TakeOffline(disk));
}

Outcome SetAttributes(const Call& call) {
  Disk& disk = DiskOf(call);
  for (const char* extra : {"Signature", "Guid"}) {
    if (call.Has(extra)) return NotSupported(call, extra);
  }
  if (!call.Has("IsReadOnly")) return Refused(call.method, kInvalidParameter, "nothing to set");
  const std::string operation = absl::StrCat("setting attributes of disk ", disk.number);
  if (!disk.online) return Answer(call, Failure(operation, kStorageDiskOffline));
  if (call.Flag("IsReadOnly") && (IsBoot(disk) || IsSystem(disk))) {
    return Answer(call, Failure(operation, kStorageCriticalDisk));
  }
  SetReadOnly(call.state, disk, call.Flag("IsReadOnly"));
  return Done(call.method);
}

Outcome PartitionOnline(const Call& call) {
  Disk& disk = DiskBelow(call);
  if (!disk.online) return Answer(call, Failure("mounting the volume", kStorageDiskOffline));
  BringOnline(call.state, PartitionOf(call, disk));
  return Done(call.method);
}

// Returns the partition's volume. Fails if the disk is offline or the partition has no volume.
absl::StatusOr<VolumePlace> Resizable(const Call& call, absl::string_view operation) {
  Disk& disk = DiskBelow(call);
  DiskPartition& partition = PartitionOf(call, disk);
  if (!disk.online) return Failure(operation, kStorageDiskOffline);
  if (!partition.volume.has_value()) return Failure(operation, kStorageUnknownFileSystem);
  return VolumePlace{&disk, &partition, &*partition.volume};
}

Outcome PartitionGetSupportedSize(const Call& call) {
  const absl::StatusOr<VolumePlace> place = Resizable(call, "measuring the partition");
  if (!place.ok()) return Answer(call, place.status());
  const SupportedSize size = GetSupportedSize(call.state, *place);
  return Done(call.method, {{"SizeMin", Value::Uint64(size.min_bytes)},
                            {"SizeMax", Value::Uint64(size.max_bytes)}});
}

Outcome PartitionResize(const Call& call) {
  if (call.Number("Size") == 0) return Refused(call.method, kInvalidParameter, "Size is 0");
  const absl::StatusOr<VolumePlace> place = Resizable(call, "resizing the partition");
  if (!place.ok()) return Answer(call, place.status());
  return Answer(call, Resize(call.state, *place, call.Number("Size")));
}

Outcome VolumeFormat(const Call& call) {
  for (const char* extra : {"RunAsJob", "IsDAX"}) {
    if (call.Flag(extra)) return NotSupported(call, extra);
  }
  const VolumePlace place = VolumeOf(call);
  FormatOptions options;
  if (call.Has("FileSystem")) options.file_system = call.Text("FileSystem");
  options.allocation_unit_bytes = static_cast<uint32_t>(call.Number("AllocationUnitSize"));
  if (call.Has("FileSystemLabel")) options.label = call.Text("FileSystemLabel");
  const absl::Status formatted = Format(place, options);
  if (HasWin32Code(formatted, win32_error::kWriteProtect)) {
    return Refused(call.method, kDriveReadOnly, formatted.message());
  }
  if (!formatted.ok()) return Answer(call, formatted);
  return Done(call.method, {{"FormattedVolume", Value::Embedded(VolumeObject(place))}});
}

// Has no effect, because the double has no cache to flush.
Outcome VolumeFlush(const Call& call) { return Done(call.method); }

Outcome UpdateHostStorageCache(const Call& call) {
  Rescan(call.state);
  return Done(call.method);
}

constexpr Implementation kStorageMethods[] = {
    {"MSFT_Disk", "Initialize", Initialize},
    {"MSFT_Disk", "CreatePartition", CreatePartition},
    {"MSFT_Disk", "Refresh", Refresh},
    {"MSFT_Disk", "Online", Online},
    {"MSFT_Disk", "Offline", Offline},
    {"MSFT_Disk", "SetAttributes", SetAttributes},
    {"MSFT_Partition", "Online", PartitionOnline},
    {"MSFT_Partition", "GetSupportedSize", PartitionGetSupportedSize},
    {"MSFT_Partition", "Resize", PartitionResize},
    {"MSFT_Volume", "Format", VolumeFormat},
    {"MSFT_Volume", "Flush", VolumeFlush},
    {"MSFT_StorageSetting", "UpdateHostStorageCache", UpdateHostStorageCache},
};

}  // namespace

std::span<const Implementation> StorageMethods() { return kStorageMethods; }

}  // namespace csi_proxy::machine::simulator::wmi
