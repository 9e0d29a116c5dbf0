#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "csi_proxy/steady_time.h"
#include "server/simulator/wmi/objects.h"

namespace csi_proxy::machine::simulator::wmi {
namespace {

using cim::Value;

constexpr char kReserved[] = "{e3c9e316-0b5c-4db8-817d-f92df00215ae}";
constexpr char kEfiSystem[] = "{c12a7328-f81f-11d2-ba4b-00a0c93ec93b}";
constexpr char kLinuxData[] = "{0fc63daf-8483-4772-8e79-3d69d8477de4}";
// Types of dynamic disks
// (learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-partition_information_gpt).
constexpr char kLdmMetadata[] = "{5808c8aa-7e8f-42e0-85d2-e1e90434cfb3}";
constexpr char kLdmData[] = "{af9b60a0-1431-4f62-bc68-3311714a69ad}";
constexpr char kRecovery[] = "{de94bba4-06d1-4d40-a16a-bfd50179d6ac}";
constexpr uint16_t kMbrLinux = 0x83;
// learn.microsoft.com/windows-hardware/manufacture/desktop/configure-biosmbr-based-hard-drive-partitions
constexpr uint16_t kMbrRecovery = 0x27;
constexpr uint16_t kMbrLdm = 0x42;

// Values of UniqueIdFormat of MSFT_Disk.
constexpr uint16_t kVendorSpecific = 0;
constexpr uint16_t kEui64 = 2;
constexpr uint16_t kFcphName = 3;
constexpr uint16_t kScsiNameString = 8;

// Values of OperationalStatus, OfflineReason and DriveType, and the default cluster size.
constexpr uint16_t kVolumeOk = 2;
constexpr uint16_t kPartitionOnline = 1;
constexpr uint16_t kPartitionOffline = 4;
constexpr uint16_t kOfflineByPolicy = 1;
constexpr uint32_t kFixedDrive = 3;
constexpr uint32_t kClusterBytes = 4096;

// Makes an id as the storage service does, with all characters that a path or a query must escape.
std::string ObjectId(absl::string_view class_name, absl::string_view id) {
  return absl::StrCat(R"({1}\\NODE\root/Microsoft/Windows/Storage/Providers_v2\)", class_name,
                      R"(.ObjectId="{0c5a3f7e-2b61-11ee-a1f4-806e6f6e6963}:)", id, "\"");
}

// Returns true for 16 or 32 hexadecimal digits: a name of 8 or 16 bytes.
bool IsBinaryName(absl::string_view page83) {
  return (page83.size() == 16 || page83.size() == 32) &&
         std::all_of(page83.begin(), page83.end(),
                     [](unsigned char c) { return absl::ascii_isxdigit(c); });
}

const char* GptType(PartitionType type) {
  switch (type) {
    case PartitionType::kBasic:
      return kBasicData;
    case PartitionType::kMicrosoftReserved:
      return kReserved;
    case PartitionType::kEfiSystem:
      return kEfiSystem;
    case PartitionType::kLinux:
      return kLinuxData;
    case PartitionType::kLdmMetadata:
      return kLdmMetadata;
    case PartitionType::kLdmData:
      return kLdmData;
    case PartitionType::kRecovery:
      return kRecovery;
  }
  return kBasicData;
}

uint16_t MbrType(PartitionType type) {
  if (type == PartitionType::kLinux) return kMbrLinux;
  if (type == PartitionType::kRecovery) return kMbrRecovery;
  return type == PartitionType::kLdmMetadata || type == PartitionType::kLdmData ? kMbrLdm : kMbrIfs;
}

uint16_t StyleNumber(PartitionStyle style) {
  switch (style) {
    case PartitionStyle::kRaw:
      return 0;
    case PartitionStyle::kMbr:
      return 1;
    case PartitionStyle::kGpt:
      return 2;
  }
  return 0;
}

// Returns FileSystemType of MSFT_Volume, or 0 for other names, also exFAT, which has no value there
// (learn.microsoft.com/windows-hardware/drivers/storage/msft-volume).
uint16_t FileSystemNumber(absl::string_view name) {
  if (name == "NTFS") return 14;
  if (name == "ReFS") return 15;
  if (name == "FAT32") return 6;
  return 0;
}

// Returns the paths of the volume: its drive, its mounted folders, its own name.
std::vector<Value> AccessPaths(NodeState& state, const Volume& volume) {
  std::vector<Value> paths;
  for (const std::string& path : MountPointsOf(state, volume)) {
    paths.push_back(Value::String(path));
  }
  paths.push_back(Value::String(volume.id.ToString()));
  return paths;
}

// Returns the number of the wanted disk, given as a property or in the device path that the keys of
// storage classes contain.
std::optional<uint32_t> WantedDisk(const Wanted& wanted) {
  for (const char* property : {"Number", "DiskNumber"}) {
    const auto found = wanted.find(property);
    if (found == wanted.end()) continue;
    if (const auto number = found->second.AsUint32(); number.ok()) return *number;
  }
  return DiskNumberIn(WantedText(wanted, "ObjectId"));
}

// Returns the id of the wanted volume, from the id itself or from the key that contains it.
std::optional<VolumeId> WantedVolume(const Wanted& wanted) {
  constexpr char kBegin[] = R"(\\?\Volume{)";
  constexpr size_t kLength = 49;
  std::string text = WantedText(wanted, "UniqueId");
  if (text.empty()) text = WantedText(wanted, "ObjectId");
  const size_t begin = text.find(kBegin);
  if (begin == std::string::npos) return std::nullopt;
  const absl::StatusOr<VolumeId> id = VolumeId::Parse(text.substr(begin, kLength));
  return id.ok() ? std::optional(*id) : std::nullopt;
}

// Returns the wanted disk if Windows sees it, or all disks that Windows sees if any is wanted.
std::vector<Disk*> DisksFor(NodeState& state, const Wanted& wanted) {
  const std::optional<uint32_t> number = WantedDisk(wanted);
  if (!number.has_value()) return VisibleDisks(state);
  Disk* const disk = FindVisibleDisk(state, *number);
  return disk != nullptr ? std::vector<Disk*>{disk} : std::vector<Disk*>();
}

// Calls `each(disk, partition)` for the partitions of DisksFor().
template <typename Action>
void ForEachPartition(NodeState& state, const Wanted& wanted, Action each) {
  for (Disk* disk : DisksFor(state, wanted)) {
    for (const DiskPartition& partition : disk->partitions) each(*disk, partition);
  }
}

// Returns a partition's volume if WMI shows it now. WMI shows no volumes of a dynamic disk.
absl::StatusOr<VolumePlace> KnownVolume(NodeState& state, const DiskPartition& partition) {
  if (!partition.volume.has_value() || partition.type == PartitionType::kLdmData ||
      partition.cached_at > SteadyTime::Now()) {
    return absl::NotFoundError("no volume");
  }
  absl::StatusOr<VolumePlace> place = FindVolume(state, partition.volume->id);
  // An offline copy has the id of the original's volume.
  if (place.ok() && place->partition != &partition) return absl::NotFoundError("a copy");
  return place;
}

}  // namespace

cim::Object DiskObject(const Disk& disk) {
  const std::string path = DevicePath(disk.number);
  uint64_t allocated = 0;
  for (const DiskPartition& partition : disk.partitions) allocated += partition.size_bytes;
  cim::Properties properties = {
      {"ObjectId", Value::String(ObjectId("WSP_Disk", absl::StrCat("DI:", path)))},
      {"Path", Value::String(path)},
      {"Location", TextOrNull(disk.location)},
      // Only Azure's NVMe disks have a LUN that their location does not name
      // (github.com/kubernetes-sigs/azuredisk-csi-driver/issues/2365).
      {"FriendlyName",
       Value::String(disk.facts.lun != 0 ? "MSFT NVMe Accelerator v1.0" : "Simulated Disk")},
      {"Number",
       disk.without_number ? Value::Null(cim::Type::kUint32) : Value::Uint32(disk.number)},
      {"SerialNumber", TextOrNull(disk.serial_number)},
      {"Size", Value::Uint64(disk.size_bytes)},
      {"AllocatedSize", Value::Uint64(allocated)},
      {"LogicalSectorSize", Value::Uint32(disk.sector_bytes)},
      {"NumberOfPartitions", Value::Uint32(static_cast<uint32_t>(disk.partitions.size()))},
      {"HealthStatus", Value::Uint16(disk.facts.health)},
      {"BusType", Value::Uint16(disk.facts.bus_type)},
      {"PartitionStyle", Value::Uint16(StyleNumber(disk.style))},
      {"IsOffline", Value::Boolean(!disk.online)},
      {"IsReadOnly", Value::Boolean(disk.read_only)},
      {"IsSystem", Value::Boolean(IsSystem(disk))},
      {"IsBoot", Value::Boolean(IsBoot(disk))},
  };
  const uint16_t reason = disk.facts.offline_reason;
  if (!disk.online) {
    properties["OfflineReason"] = Value::Uint16(reason != 0 ? reason : kOfflineByPolicy);
  }
  // UniqueId is the first that the disk has of the SCSI name, the scenario's unique id, the EUI and
  // a readable page 83. A disk without any has a UniqueId with its number.
  if (!disk.facts.scsi_name.empty()) {
    properties["UniqueId"] = Value::String(disk.facts.scsi_name);
    properties["UniqueIdFormat"] = Value::Uint16(kScsiNameString);
  } else if (!disk.facts.unique_id.empty()) {
    properties["UniqueId"] = Value::String(disk.facts.unique_id);
    properties["UniqueIdFormat"] = Value::Uint16(kVendorSpecific);
  } else if (!disk.facts.eui.empty()) {
    properties["UniqueId"] =
        Value::String(absl::StrCat("eui.", absl::AsciiStrToUpper(disk.facts.eui)));
    properties["UniqueIdFormat"] = Value::Uint16(kEui64);
  } else if (disk.page83.empty() || disk.page83_error.has_value()) {
    properties["UniqueId"] = Value::String(absl::StrCat("SIMULATED\\DISK\\", disk.number, ":NODE"));
    properties["UniqueIdFormat"] = Value::Uint16(kVendorSpecific);
  } else if (IsBinaryName(disk.page83)) {
    properties["UniqueId"] = Value::String(absl::AsciiStrToUpper(disk.page83));
    properties["UniqueIdFormat"] = Value::Uint16(kFcphName);
  } else {
    properties["UniqueId"] = Value::String(disk.page83);
    properties["UniqueIdFormat"] = Value::Uint16(kScsiNameString);
  }
  return MakeObject("MSFT_Disk", std::move(properties));
}

cim::Object PartitionObject(NodeState& state, const Disk& disk, const DiskPartition& partition) {
  // The id comes from the offset, the only property of a partition that never changes.
  const std::string id = absl::StrFormat("{00000000-0000-0000-0000-%012x}", partition.offset_bytes);
  const absl::StatusOr<VolumePlace> volume = KnownVolume(state, partition);
  const bool is_online = disk.online && !partition.awaits_online;
  const bool is_gpt = disk.style == PartitionStyle::kGpt;
  const bool is_system =
      partition.volume.has_value() && partition.volume->drive_letter == kSystemDrive;
  cim::Properties properties = {
      {"ObjectId",
       Value::String(ObjectId("WSP_Partition", absl::StrCat("PR:", id, DevicePath(disk.number))))},
      {"UniqueId", Value::String(absl::StrCat(id, "SIMULATED\\DISK\\", disk.number, ":NODE"))},
      {"DiskNumber", Value::Uint32(disk.number)},
      {"PartitionNumber", Value::Uint32(partition.number)},
      {"DriveLetter", Value::Char16(volume.ok() ? volume->volume->drive_letter : u'\0')},
      {"OperationalStatus", Value::Uint16(is_online ? kPartitionOnline : kPartitionOffline)},
      {"Offset", Value::Uint64(partition.offset_bytes)},
      {"Size", Value::Uint64(partition.size_bytes)},
      {"IsReadOnly", Value::Boolean(disk.read_only ||
                                    (partition.volume.has_value() && partition.volume->read_only))},
      {"IsOffline", Value::Boolean(!is_online)},
      {"IsSystem", Value::Boolean(partition.type == PartitionType::kEfiSystem && IsSystem(disk))},
      {"IsBoot", Value::Boolean(is_system)},
      {"IsHidden", Value::Boolean(false)},
      {"IsActive", Value::Boolean(partition.active)},
      {is_gpt ? "GptType" : "MbrType",
       is_gpt ? Value::String(GptType(partition.type)) : Value::Uint16(MbrType(partition.type))},
  };
  if (volume.ok()) {
    properties["AccessPaths"] =
        Value::Array(cim::Type::kString, AccessPaths(state, *volume->volume));
  }
  return MakeObject("MSFT_Partition", std::move(properties));
}

cim::Object VolumeObject(const VolumePlace& place) {
  const Volume& volume = *place.volume;
  const std::string id = volume.id.ToString();
  const bool formatted = !volume.file_system.empty();
  // The size of the file system, so 0 on an unformatted volume.
  const uint64_t size = formatted ? FileSystemBytes(*place.partition) : 0;
  return MakeObject(
      "MSFT_Volume",
      {
          {"ObjectId", Value::String(ObjectId("WSP_Volume", absl::StrCat("VO:", id)))},
          {"UniqueId", Value::String(id)},
          {"DriveLetter", Value::Char16(static_cast<unsigned char>(volume.drive_letter))},
          {"Path", Value::String(id)},
          {"HealthStatus", Value::Uint16(volume.health)},
          {"OperationalStatus", Value::Array(cim::Type::kUint16, {Value::Uint16(kVolumeOk)})},
          {"FileSystem", Value::String(volume.file_system)},
          {"FileSystemType", Value::Uint16(FileSystemNumber(volume.file_system))},
          {"FileSystemLabel", Value::String(volume.label)},
          {"Size", Value::Uint64(size)},
          {"SizeRemaining", Value::Uint64(formatted ? size - UsedBytes(*place.partition) : 0)},
          {"AllocationUnitSize",
           Value::Uint32(formatted ? std::max(volume.allocation_unit_bytes, kClusterBytes) : 0)},
          {"DriveType", Value::Uint32(kFixedDrive)},
      });
}

Objects Disks(NodeState& state, const Wanted& wanted) {
  Objects objects;
  for (const Disk* disk : DisksFor(state, wanted)) objects.push_back(DiskObject(*disk));
  return objects;
}

Objects Partitions(NodeState& state, const Wanted& wanted) {
  Objects objects;
  ForEachPartition(state, wanted, [&](const Disk& disk, const DiskPartition& partition) {
    objects.push_back(PartitionObject(state, disk, partition));
  });
  return objects;
}

Objects Volumes(NodeState& state, const Wanted& wanted) {
  Objects objects;
  const auto add = [&](const DiskPartition& partition) {
    const absl::StatusOr<VolumePlace> place = KnownVolume(state, partition);
    if (place.ok()) objects.push_back(VolumeObject(*place));
  };
  if (const std::optional<VolumeId> id = WantedVolume(wanted); id.has_value()) {
    const absl::StatusOr<VolumePlace> place = FindVolume(state, *id);
    if (place.ok()) add(*place->partition);
    return objects;
  }
  ForEachPartition(state, wanted,
                   [&](const Disk&, const DiskPartition& partition) { add(partition); });
  return objects;
}

Objects DisksToPartitions(NodeState& state) {
  Objects objects;
  ForEachPartition(state, {}, [&](const Disk& disk, const DiskPartition& partition) {
    objects.push_back(Link("MSFT_DiskToPartition", "Disk", DiskObject(disk), "Partition",
                           PartitionObject(state, disk, partition)));
  });
  return objects;
}

Objects PartitionsToVolumes(NodeState& state) {
  Objects objects;
  ForEachPartition(state, {}, [&](const Disk& disk, const DiskPartition& partition) {
    const absl::StatusOr<VolumePlace> place = KnownVolume(state, partition);
    if (!place.ok()) return;
    objects.push_back(Link("MSFT_PartitionToVolume", "Partition",
                           PartitionObject(state, disk, partition), "Volume",
                           VolumeObject(*place)));
  });
  return objects;
}

}  // namespace csi_proxy::machine::simulator::wmi
