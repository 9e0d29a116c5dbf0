#include "server/simulator/win32/devices.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/base/status_macros.h"
#include "server/machine/layouts.h"
#include "server/names/win32_error.h"
#include "server/simulator/storage.h"
#include "server/simulator/win32/layouts_encode.h"

namespace csi_proxy::machine::simulator {
namespace {

using machine::Bytes;
using machine::DeviceAccess;

constexpr uint32_t kFileDeviceDisk = 7;
constexpr uint32_t kStorageDeviceIdProperty = 2;
constexpr uint32_t kPropertyStandardQuery = 0;
constexpr ptrdiff_t kNvmeName = 68;

// The opened device: a disk, or a volume and the disk that holds the volume.
struct Device {
  Disk* disk;
  std::optional<VolumePlace> place;
};

struct Request {
  const NodeState& state;
  Device device;
  DeviceAccess access;
  const Bytes& input;
  absl::string_view operation;
};
using Answer = absl::StatusOr<Bytes>;

Answer GetDeviceNumber(const Request& request) {
  const auto& place = request.device.place;
  // Partition 0 is the whole disk.
  return machine::MakeDeviceNumber({kFileDeviceDisk, request.device.disk->number,
                                    place.has_value() ? place->partition->number : 0});
}

bool IsHexadecimal(absl::string_view text) {
  return !text.empty() && text.size() % 2 == 0 &&
         text.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
}

// Returns page 83 as a SCSI disk does. Pairs of lower-case hexadecimal digits in `disk.page83`
// become binary. The port's identifier comes first, and is the same for all disks.
Bytes Page83(const Disk& disk) {
  using machine::Association;
  using machine::CodeSet;
  using machine::IdentifierType;
  std::vector<machine::DeviceIdentifier> identifiers = {
      {CodeSet::kBinary, IdentifierType::kFcphName, Association::kPort, {0x50, 0, 0, 1}}};
  if (IsHexadecimal(disk.page83)) {
    const std::string bytes = absl::HexStringToBytes(disk.page83);
    identifiers.push_back({CodeSet::kBinary, IdentifierType::kFcphName, Association::kDevice,
                           Bytes(bytes.begin(), bytes.end())});
  } else if (!disk.page83.empty()) {
    identifiers.push_back({CodeSet::kAscii, IdentifierType::kVendorId, Association::kDevice,
                           Bytes(disk.page83.begin(), disk.page83.end())});
  }
  if (!disk.facts.eui.empty()) {
    const std::string bytes = absl::HexStringToBytes(disk.facts.eui);
    identifiers.push_back({CodeSet::kBinary, IdentifierType::kEui64, Association::kDevice,
                           Bytes(bytes.begin(), bytes.end())});
  }
  if (!disk.facts.scsi_name.empty()) {
    identifiers.push_back({CodeSet::kUtf8, IdentifierType::kScsiNameString, Association::kDevice,
                           Bytes(disk.facts.scsi_name.begin(), disk.facts.scsi_name.end())});
  }
  if (disk.facts.nvme_namespace_id != 0) {
    // NVME_SCSI_NAME_STRING.
    const std::string name = absl::StrFormat("1AF4%-40s%04X%-20s", "Simulated NVMe",
                                             disk.facts.nvme_namespace_id, disk.serial_number);
    identifiers.push_back({CodeSet::kUtf8, IdentifierType::kScsiNameString, Association::kDevice,
                           Bytes(name.begin(), name.begin() + kNvmeName)});
  }
  return machine::MakeDeviceIds(identifiers);
}

Answer QueryProperty(const Request& request) {
  const absl::StatusOr<machine::PropertyQuery> query = machine::ParsePropertyQuery(request.input);
  if (!query.ok()) return Failure(request.operation, win32_error::kInvalidParameter);
  if (query->property_id != kStorageDeviceIdProperty ||
      query->query_type != kPropertyStandardQuery) {
    return Failure(request.operation, win32_error::kNotSupported);
  }
  const Disk& disk = *request.device.disk;
  if (disk.page83_error.has_value()) return Failure(request.operation, *disk.page83_error);
  return Page83(disk);
}

// Returns the number behind a word of a location, such as 3 in `... : Adapter 3 : Port 0`. Returns
// 0 if the word is missing.
uint8_t NumberIn(absl::string_view location, absl::string_view word) {
  for (absl::string_view part : absl::StrSplit(location, " : ")) {
    uint32_t number = 0;
    if (absl::ConsumePrefix(&part, word) && absl::SimpleAtoi(part, &number)) {
      return static_cast<uint8_t>(number);
    }
  }
  return 0;
}

Answer GetScsiAddress(const Request& request) {
  const Disk& disk = *request.device.disk;
  machine::ScsiAddress address;
  address.port = NumberIn(disk.location, "Adapter ");
  address.path = NumberIn(disk.location, "Port ");
  address.target = NumberIn(disk.location, "Target ");
  address.lun = NumberIn(disk.location, "LUN ");
  if (disk.facts.lun != 0) address.lun = static_cast<uint8_t>(disk.facts.lun);
  return machine::MakeScsiAddress(address);
}

Answer GetLength(const Request& request) {
  const auto& place = request.device.place;
  return machine::MakeLength(place.has_value() ? place->partition->size_bytes
                                               : request.device.disk->size_bytes);
}

Answer UpdateDriveSize(const Request& request) {
  UpdateSize(*request.device.disk);
  return Bytes(24);  // DISK_GEOMETRY; the product does not read it
}

// GPT_BASIC_DATA_ATTRIBUTE_READ_ONLY
// (learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-partition_information_gpt).
constexpr uint64_t kGptReadOnly = 0x1000000000000000;

// Returns the GUID of a partition's type, laid out as in memory, or zeros for a type that the
// product does not distinguish.
std::array<uint8_t, 16> GptTypeBytes(PartitionType type) {
  switch (type) {
    case PartitionType::kBasic:
      return {0xA2, 0xA0, 0xD0, 0xEB, 0xE5, 0xB9, 0x33, 0x44,
              0x87, 0xC0, 0x68, 0xB6, 0xB7, 0x26, 0x99, 0xC7};
    case PartitionType::kMicrosoftReserved:
      return {0x16, 0xE3, 0xC9, 0xE3, 0x5C, 0x0B, 0xB8, 0x4D,
              0x81, 0x7D, 0xF9, 0x2D, 0xF0, 0x02, 0x15, 0xAE};
    case PartitionType::kLdmMetadata:
      return {0xAA, 0xC8, 0x08, 0x58, 0x8F, 0x7E, 0xE0, 0x42,
              0x85, 0xD2, 0xE1, 0xE9, 0x04, 0x34, 0xCF, 0xB3};
    case PartitionType::kLdmData:
      return {0xA0, 0x60, 0x9B, 0xAF, 0x31, 0x14, 0x62, 0x4F,
              0xBC, 0x68, 0x33, 0x11, 0x71, 0x4A, 0x69, 0xAD};
    default:
      return {};
  }
}

// Returns the type of a partition of an MBR disk.
uint8_t MbrTypeOf(PartitionType type) {
  switch (type) {
    case PartitionType::kBasic:
      return 7;
    case PartitionType::kLdmMetadata:
    case PartitionType::kLdmData:
      return 0x42;
    case PartitionType::kMicrosoftReserved:
      return 0;  // MBR has no such partition
    default:
      return 0x83;
  }
}

Answer GetDriveLayout(const Request& request) {
  const Disk& disk = *request.device.disk;
  std::vector<machine::PartitionDescription> partitions;
  for (const DiskPartition& partition : disk.partitions) {
    machine::PartitionDescription& description = partitions.emplace_back();
    description.number = partition.number;
    description.offset = partition.offset_bytes;
    description.length = partition.size_bytes;
    description.gpt_type = GptTypeBytes(partition.type);
    if (partition.volume.has_value() && partition.volume->read_only) {
      description.gpt_attributes = kGptReadOnly;
    }
    description.mbr_type = MbrTypeOf(partition.type);
    description.mbr_recognised = partition.type == PartitionType::kBasic;
    description.mbr_active = partition.active;
  }
  switch (disk.style) {
    case PartitionStyle::kRaw:
      return machine::MakeDriveLayout(machine::LayoutStyle::kRaw, {});
    case PartitionStyle::kMbr:
      return machine::MakeDriveLayout(machine::LayoutStyle::kMbr, partitions);
    case PartitionStyle::kGpt:
      return machine::MakeDriveLayout(machine::LayoutStyle::kGpt, partitions);
  }
  return Failure(request.operation, win32_error::kNotSupported);
}

// Dismounts immediately, even if files are open, as the file systems of Windows do.
Answer DismountVolume(const Request& request) {
  Remount(*request.device.place);
  return Bytes();
}

// Extends the file system to a size in sectors
// (learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_extend_volume).
Answer ExtendVolume(const Request& request) {
  const auto sectors = machine::ParseExtendVolume(request.input);
  if (!sectors.ok()) return Failure(request.operation, win32_error::kInvalidParameter);
  ABSL_RETURN_IF_ERROR(
      ExtendFileSystem(*request.device.place, *sectors * request.device.disk->sector_bytes));
  return Bytes();
}

// Returns the dirty bit of the file system. A handle without access rights does not reach the file
// system (learn.microsoft.com/windows-hardware/drivers/ifs/fsctl-is-volume-dirty).
Answer IsVolumeDirty(const Request& request) {
  if (request.access == DeviceAccess::kNone) {
    return Failure(request.operation, win32_error::kInvalidParameter);
  }
  const Volume& volume = *request.device.place->volume;
  if (volume.file_system.empty()) {
    return Failure(request.operation, win32_error::kInvalidFunction);
  }
  return machine::MakeIsDirty(volume.dirty);
}

Answer GetDiskAttributes(const Request& request) {
  const Disk& disk = *request.device.disk;
  return machine::MakeDiskAttributes({.is_offline = !disk.online, .is_read_only = disk.read_only});
}

// Sets the read-only flag. Refuses to change the offline flag, because the host does so with WMI.
Answer SetDiskAttributes(const Request& request) {
  const auto change = machine::ParseSetDiskAttributes(request.input);
  if (!change.ok()) return Failure(request.operation, win32_error::kInvalidParameter);
  if (change->mask.is_offline) return Failure(request.operation, win32_error::kNotSupported);
  if (change->mask.is_read_only) {
    SetReadOnly(request.state, *request.device.disk, change->attributes.is_read_only);
  }
  return Bytes();
}

Answer GetVolumeDiskExtents(const Request& request) {
  const DiskPartition& partition = *request.device.place->partition;
  return machine::MakeDiskExtents(
      {{request.device.disk->number, partition.offset_bytes, partition.size_bytes}});
}

struct ControlCode {
  uint32_t code;
  bool for_disk;
  bool for_volume;
  Answer (*answer)(const Request& request);
};

constexpr ControlCode kControlCodes[] = {
    {machine::control::kGetDeviceNumber, true, true, GetDeviceNumber},
    {machine::control::kQueryProperty, true, true, QueryProperty},
    {machine::control::kGetScsiAddress, true, false, GetScsiAddress},
    {machine::control::kGetLength, true, true, GetLength},
    {machine::control::kUpdateDriveSize, true, false, UpdateDriveSize},
    {machine::control::kGetDriveLayout, true, false, GetDriveLayout},
    {machine::control::kIsVolumeDirty, false, true, IsVolumeDirty},
    {machine::control::kDismountVolume, false, true, DismountVolume},
    {machine::control::kExtendVolume, false, true, ExtendVolume},
    {machine::control::kGetDiskAttributes, true, false, GetDiskAttributes},
    {machine::control::kSetDiskAttributes, true, false, SetDiskAttributes},
    {machine::control::kGetVolumeDiskExtents, false, true, GetVolumeDiskExtents},
};

// Returns true if a handle with this access may send the code. The code contains the necessary
// access (learn.microsoft.com/windows-hardware/drivers/kernel/defining-i-o-control-codes).
bool MaySend(DeviceAccess access, uint32_t code) {
  const uint32_t required = (code >> 14) & 3;
  switch (access) {
    case DeviceAccess::kNone:
      return required == 0;
    case DeviceAccess::kRead:
      return required <= 1;
    case DeviceAccess::kReadWrite:
      return true;
  }
  return false;
}

std::optional<uint32_t> DiskNumberOf(absl::string_view device) {
  constexpr absl::string_view kPrefix = R"(\\.\PhysicalDrive)";
  if (!absl::StartsWithIgnoreCase(device, kPrefix)) return DiskNumberOfPath(device);
  uint32_t number = 0;
  const absl::string_view digits = device.substr(kPrefix.size());
  if (!absl::SimpleAtoi(digits, &number) || digits != absl::StrCat(number)) return std::nullopt;
  return number;
}

absl::StatusOr<Device> Open(NodeState& state, const std::string& device,
                            absl::string_view operation) {
  if (const std::optional<uint32_t> number = DiskNumberOf(device); number.has_value()) {
    const absl::StatusOr<Disk*> disk = FindDisk(state, *number);
    if (disk.ok()) return Device{*disk, std::nullopt};
  }
  if (const absl::StatusOr<VolumeId> id = VolumeId::Parse(device); id.ok()) {
    const absl::StatusOr<VolumePlace> place = FindVolume(state, *id);
    if (place.ok()) {
      // With the backslash the path names the root directory, not the device.
      if (absl::EndsWith(device, "\\")) return Failure(operation, win32_error::kAccessDenied);
      return Device{place->disk, *place};
    }
  }
  return Failure(operation, win32_error::kFileNotFound);
}

}  // namespace

absl::StatusOr<Bytes> ReadDevice(NodeState& state, const std::string& device, uint64_t offset,
                                 size_t size) {
  const std::string operation = absl::StrCat("reading ", device);
  ABSL_ASSIGN_OR_RETURN(const Device opened, Open(state, device, operation));
  const uint64_t sector = opened.disk->sector_bytes;
  if (offset % sector != 0 || size % sector != 0) {
    return Failure(operation, win32_error::kInvalidParameter);
  }
  // No page says that an offline disk can be read.
  if (!opened.disk->online) return Failure(operation, win32_error::kNotReady);
  if (!opened.place.has_value()) return ReadBytes(*opened.disk, offset, size);
  const DiskPartition& partition = *opened.place->partition;
  const uint64_t left = partition.size_bytes - std::min(partition.size_bytes, offset);
  return ReadBytes(*opened.disk, partition.offset_bytes + offset, std::min<uint64_t>(left, size));
}

absl::StatusOr<Bytes> ControlDevice(NodeState& state, const std::string& device,
                                    DeviceAccess access, uint32_t code, const Bytes& input,
                                    size_t max_output) {
  const std::string operation = absl::StrCat("sending 0x", absl::Hex(code), " to ", device);
  ABSL_ASSIGN_OR_RETURN(const Device opened, Open(state, device, operation));
  if (!MaySend(access, code)) return Failure(operation, win32_error::kAccessDenied);
  const bool is_volume = opened.place.has_value();
  const auto* const known =
      std::find_if(std::begin(kControlCodes), std::end(kControlCodes), [&](const ControlCode& c) {
        return c.code == code && (is_volume ? c.for_volume : c.for_disk);
      });
  if (known == std::end(kControlCodes)) return Failure(operation, win32_error::kInvalidFunction);
  Answer answer = known->answer({state, opened, access, input, operation});
  if (answer.ok() && answer->size() > max_output) return Failure(operation, win32_error::kMoreData);
  return answer;
}

}  // namespace csi_proxy::machine::simulator
