#include "server/machine/layouts.h"

#include <algorithm>
#include <optional>
#include <span>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/base/status_macros.h"
#include "server/machine/little_endian.h"

namespace csi_proxy::machine {
namespace {

constexpr uint64_t kAttributeOffline = 1;
constexpr uint64_t kAttributeReadOnly = 2;

// The size of the header before the bytes of a STORAGE_IDENTIFIER.
constexpr size_t kIdentifierHeader = 16;

enum CodeSet : uint32_t { kBinary = 1, kAscii = 2 };
constexpr uint32_t kAssociatedWithDevice = 0;
// Values of STORAGE_IDENTIFIER_TYPE
// (learn.microsoft.com/windows-hardware/drivers/ddi/ntddstor/ne-ntddstor-_storage_identifier_type).
enum IdentifierType : uint32_t { kEui64 = 2, kScsiNameString = 8 };

absl::Status Malformed(absl::string_view layout, absl::string_view how) {
  return absl::InternalError(absl::StrCat("malformed ", layout, ": ", how));
}

absl::string_view AsText(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool IsPrintable(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

// Returns the identifier as the API shows it, or "" if it has no text form.
std::string IdentifierText(uint32_t code_set, std::span<const uint8_t> bytes) {
  absl::string_view text = AsText(bytes);
  if (code_set == kAscii) {
    while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.remove_suffix(1);
    if (IsPrintable(text)) return std::string(text);
  }
  const bool known = code_set == kAscii || code_set == kBinary;
  return known ? absl::BytesToHexString(text) : "";
}

// Returns true for an EUI-64 (8 bytes) or an NGUID (16 bytes). StorageIdTypeEUI64 covers both.
bool IsEui(uint32_t type, uint32_t code_set, std::span<const uint8_t> bytes) {
  return type == kEui64 && code_set == kBinary && (bytes.size() == 8 || bytes.size() == 16);
}

// Returns the number that four hexadecimal digits spell, or nullopt for other text.
std::optional<uint32_t> FourDigits(absl::string_view text) {
  uint32_t number = 0;
  const bool are_digits = std::all_of(text.begin(), text.end(), absl::ascii_isxdigit);
  if (!are_digits || !absl::SimpleHexAtoi(text, &number)) return std::nullopt;
  return number;
}

// Returns the NamespaceID of an NVME_SCSI_NAME_STRING: PCIVendorID, ModelNumber, NamespaceID,
// SerialNumber (learn.microsoft.com/windows/win32/api/nvme/ns-nvme-nvme_scsi_name_string). Returns
// 0 for other names. Sets `*is_reversed` for the reverse order, as in EC2's names
// (github.com/dsccommunity/StorageDsc/issues/247).
uint32_t NamespaceInName(uint32_t type, std::span<const uint8_t> bytes, bool* is_reversed) {
  constexpr size_t kVendor = 4, kModel = 40, kNamespace = 4, kSerial = 20;
  constexpr size_t kWhole = kVendor + kModel + kNamespace + kSerial;
  if (type != kScsiNameString || bytes.size() != kWhole) return 0;
  const auto number_at = [&](size_t offset) {
    return FourDigits(AsText(bytes.subspan(offset, 4)));
  };
  if (number_at(0).has_value()) {
    if (const auto number = number_at(kVendor + kModel); number.has_value()) return *number;
  }
  if (!number_at(kWhole - kVendor).has_value()) return 0;
  const uint32_t number = number_at(kSerial).value_or(0);
  *is_reversed = number != 0;
  return number;
}

}  // namespace

Bytes DeviceIdQuery() {
  Bytes query;
  AppendLittleEndian<uint32_t>(2, &query);  // PropertyId: StorageDeviceIdProperty
  AppendLittleEndian<uint32_t>(0, &query);  // QueryType: PropertyStandardQuery
  AppendLittleEndian<uint32_t>(0, &query);  // AdditionalParameters and padding
  return query;
}

absl::StatusOr<DeviceIds> ParseDeviceIds(const Bytes& descriptor) {
  constexpr absl::string_view kLayout = "STORAGE_DEVICE_ID_DESCRIPTOR";
  LittleEndianReader header(descriptor);
  header.Read<uint32_t>();  // Version
  header.Read<uint32_t>();  // Size, which is ignored
  const uint32_t count = header.Read<uint32_t>();
  if (!header.ok()) return Malformed(kLayout, "its header is cut short");

  DeviceIds ids;
  // Once page83 is set, a malformed identifier behind it is ignored.
  const auto malformed = [&](absl::string_view how) -> absl::StatusOr<DeviceIds> {
    if (!ids.page83.empty()) return ids;
    return Malformed(kLayout, how);
  };
  std::span<const uint8_t> rest = header.rest();
  for (uint32_t i = 0; i < count; ++i) {
    LittleEndianReader reader(rest);
    const auto code_set = reader.Read<uint32_t>();
    const auto type = reader.Read<uint32_t>();
    const auto size = reader.Read<uint16_t>();
    const auto next_offset = reader.Read<uint16_t>();
    const auto association = reader.Read<uint32_t>();
    const auto identifier = reader.Take(size);
    if (!reader.ok()) return malformed("an identifier runs past the end");
    if (association == kAssociatedWithDevice) {
      if (ids.page83.empty()) ids.page83 = IdentifierText(code_set, identifier);
      if (ids.eui.empty() && IsEui(type, code_set, identifier)) {
        ids.eui = absl::BytesToHexString(AsText(identifier));
      }
      if (ids.nvme_namespace_id == 0) {
        ids.nvme_namespace_id = NamespaceInName(type, identifier, &ids.is_nvme_name_reversed);
      }
    }
    if (i + 1 == count || next_offset == 0) break;
    // NextOffset counts from the start of this identifier
    // (learn.microsoft.com/openspecs/windows_protocols/ms-csvp/7a3e576f-3f0a-4a6f-8f7c-d0956ce778ba).
    if (next_offset < kIdentifierHeader + size) {
      return malformed("an identifier overlaps the next one");
    }
    if (next_offset > rest.size()) return malformed("NextOffset lies past the end");
    rest = rest.subspan(next_offset);
  }
  return ids;
}

absl::StatusOr<ScsiAddress> ParseScsiAddress(const Bytes& answer) {
  LittleEndianReader reader(answer);
  reader.Read<uint32_t>();  // Length
  ScsiAddress address;
  address.port = reader.Read<uint8_t>();
  address.path = reader.Read<uint8_t>();
  address.target = reader.Read<uint8_t>();
  address.lun = reader.Read<uint8_t>();
  if (!reader.ok()) return Malformed("SCSI_ADDRESS", "it is cut short");
  return address;
}

absl::StatusOr<DeviceNumber> ParseDeviceNumber(const Bytes& answer) {
  LittleEndianReader reader(answer);
  DeviceNumber number;
  number.device_type = reader.Read<uint32_t>();
  number.device_number = reader.Read<uint32_t>();
  number.partition_number = reader.Read<uint32_t>();
  if (!reader.ok()) return Malformed("STORAGE_DEVICE_NUMBER", "it is cut short");
  return number;
}

absl::StatusOr<uint64_t> ParseLength(const Bytes& answer) {
  constexpr absl::string_view kLayout = "GET_LENGTH_INFORMATION";
  LittleEndianReader reader(answer);
  const auto length = reader.Read<uint64_t>();
  if (!reader.ok()) return Malformed(kLayout, "it is cut short");
  if (length > INT64_MAX) return Malformed(kLayout, "the length is negative");
  return length;
}

absl::StatusOr<DiskAttributes> ParseDiskAttributes(const Bytes& answer) {
  LittleEndianReader reader(answer);
  reader.Read<uint32_t>();  // Version
  reader.Read<uint32_t>();  // Reserved1
  const auto attributes = reader.Read<uint64_t>();
  if (!reader.ok()) return Malformed("GET_DISK_ATTRIBUTES", "it is cut short");
  return DiskAttributes{.is_offline = (attributes & kAttributeOffline) != 0,
                        .is_read_only = (attributes & kAttributeReadOnly) != 0};
}

Bytes ClearReadOnlyRequest() {
  Bytes request;
  // Version: the size of this structure, as in winioctl.h and in programs that send the request.
  // The page names the size of GET_DISK_ATTRIBUTES instead (doubt 9 of server/host/doubts.md).
  AppendLittleEndian<uint32_t>(40, &request);
  AppendLittleEndian<uint32_t>(1, &request);  // Persist and Reserved1
  AppendLittleEndian<uint64_t>(0, &request);  // Attributes
  AppendLittleEndian<uint64_t>(kAttributeReadOnly, &request);
  request.resize(40);  // Reserved2
  return request;
}

Bytes ExtendVolumeRequest(uint64_t sectors) {
  Bytes request;
  AppendLittleEndian(sectors, &request);
  return request;
}

absl::StatusOr<std::vector<PartitionEntry>> ParseDriveLayout(const Bytes& answer) {
  constexpr absl::string_view kLayout = "DRIVE_LAYOUT_INFORMATION_EX";
  constexpr size_t kStyleDetails = 40;
  constexpr size_t kEntry = 144;
  constexpr uint32_t kMbr = 0;
  constexpr uint32_t kGpt = 1;
  // The GUID of basic data, as laid out in memory
  // (learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-partition_information_gpt).
  constexpr uint8_t kBasicData[] = {0xA2, 0xA0, 0xD0, 0xEB, 0xE5, 0xB9, 0x33, 0x44,
                                    0x87, 0xC0, 0x68, 0xB6, 0xB7, 0x26, 0x99, 0xC7};
  // PARTITION_MSFT_RESERVED_GUID of the page above.
  constexpr uint8_t kReserved[] = {0x16, 0xE3, 0xC9, 0xE3, 0x5C, 0x0B, 0xB8, 0x4D,
                                   0x81, 0x7D, 0xF9, 0x2D, 0xF0, 0x02, 0x15, 0xAE};
  // GPT_BASIC_DATA_ATTRIBUTE_HIDDEN, which hides a partition from the mount manager, and
  // GPT_BASIC_DATA_ATTRIBUTE_READ_ONLY of the page above.
  constexpr uint64_t kHidden = 0x4000000000000000;
  constexpr uint64_t kReadOnly = 0x1000000000000000;
  // PARTITION_LDM_METADATA_GUID and PARTITION_LDM_DATA_GUID of the page above, and PARTITION_LDM
  // for an MBR disk.
  constexpr uint8_t kLdm[2][16] = {{0xAA, 0xC8, 0x08, 0x58, 0x8F, 0x7E, 0xE0, 0x42, 0x85, 0xD2,
                                    0xE1, 0xE9, 0x04, 0x34, 0xCF, 0xB3},
                                   {0xA0, 0x60, 0x9B, 0xAF, 0x31, 0x14, 0x62, 0x4F, 0xBC, 0x68,
                                    0x33, 0x11, 0x71, 0x4A, 0x69, 0xAD}};
  constexpr uint8_t kMbrLdm = 0x42;
  // Types of MBR partitions (learn.microsoft.com/windows/win32/fileio/disk-partition-types).
  constexpr uint8_t kUnused = 0;
  constexpr uint8_t kExtended[] = {0x05, 0x0F};
  LittleEndianReader reader(answer);
  reader.Read<uint32_t>();  // PartitionStyle, repeated in each entry
  const auto count = reader.Read<uint32_t>();
  reader.Take(kStyleDetails);
  if (!reader.ok()) return Malformed(kLayout, "its header is cut short");
  std::vector<PartitionEntry> partitions;
  for (uint32_t i = 0; i < count; ++i) {
    LittleEndianReader entry(reader.Take(kEntry));
    if (!reader.ok()) {
      return Malformed(kLayout, absl::StrCat("it holds ", i, " partitions instead of ", count));
    }
    const auto style = entry.Read<uint32_t>();
    entry.Take(4);  // padding
    PartitionEntry partition;
    partition.offset = entry.Read<uint64_t>();
    entry.Take(8);  // PartitionLength
    partition.number = entry.Read<uint32_t>();
    entry.Take(4);  // RewritePartition, IsServicePartition, padding
    if (style == kGpt) {
      const auto type = entry.Take(sizeof(kBasicData));
      entry.Take(16);  // PartitionId
      const auto attributes = entry.Read<uint64_t>();
      const bool hidden = (attributes & kHidden) != 0;
      partition.is_read_only = (attributes & kReadOnly) != 0;
      const auto is = [&](const auto& guid) {
        return std::equal(type.begin(), type.end(), std::begin(guid));
      };
      partition.holds_volume = is(kBasicData) && !hidden;
      partition.is_reserved = is(kReserved);
      partition.is_dynamic = is(kLdm[0]) || is(kLdm[1]);
    } else if (style == kMbr) {
      const auto type = entry.Read<uint8_t>();
      partition.is_active = entry.Read<uint8_t>() != 0;  // BootIndicator
      const bool recognised = entry.Read<uint8_t>() != 0;
      if (type == kUnused) continue;
      partition.is_dynamic = type == kMbrLdm;
      partition.holds_volume = recognised && type != kExtended[0] && type != kExtended[1];
    } else {
      continue;
    }
    partitions.push_back(partition);
  }
  return partitions;
}

absl::StatusOr<bool> ParseIsDirty(const Bytes& answer) {
  constexpr uint32_t kVolumeIsDirty = 1;
  LittleEndianReader reader(answer);
  const auto flags = reader.Read<uint32_t>();
  if (!reader.ok()) return Malformed("FSCTL_IS_VOLUME_DIRTY", "it is cut short");
  return (flags & kVolumeIsDirty) != 0;
}

absl::StatusOr<std::vector<DiskExtent>> ParseDiskExtents(const Bytes& answer) {
  constexpr absl::string_view kLayout = "VOLUME_DISK_EXTENTS";
  LittleEndianReader reader(answer);
  const auto count = reader.Read<uint32_t>();
  reader.Read<uint32_t>();  // padding
  if (!reader.ok()) return Malformed(kLayout, "its header is cut short");
  if (count == 0) return Malformed(kLayout, "the volume lies on no disk");
  std::vector<DiskExtent> extents;
  for (uint32_t i = 0; i < count; ++i) {
    DiskExtent extent;
    extent.disk_number = reader.Read<uint32_t>();
    reader.Read<uint32_t>();  // padding
    extent.offset = reader.Read<uint64_t>();
    extent.length = reader.Read<uint64_t>();
    if (!reader.ok()) {
      return Malformed(kLayout, absl::StrCat("it holds ", i, " extents instead of ", count));
    }
    if (extent.offset > INT64_MAX || extent.length > INT64_MAX) {
      return Malformed(kLayout, "an offset or a length is negative");
    }
    extents.push_back(extent);
  }
  return extents;
}

}  // namespace csi_proxy::machine
