#include "server/simulator/win32/layouts_encode.h"

#include <algorithm>
#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "server/machine/little_endian.h"
#include "server/machine/reparse_point.h"
#include "server/names/unicode.h"

namespace csi_proxy::machine {
namespace {

constexpr uint64_t kOffline = 1;
constexpr uint64_t kReadOnly = 2;

constexpr uint32_t kSetDiskAttributesSize = 40;

uint64_t ToBits(const DiskAttributes& attributes) {
  return (attributes.is_offline ? kOffline : 0) | (attributes.is_read_only ? kReadOnly : 0);
}

DiskAttributes FromBits(uint64_t bits) {
  return {.is_offline = (bits & kOffline) != 0, .is_read_only = (bits & kReadOnly) != 0};
}

// Overwrites four bytes at `offset`.
void PutLittleEndian(uint32_t value, size_t offset, Bytes* out) {
  Bytes number;
  AppendLittleEndian(value, &number);
  std::copy(number.begin(), number.end(), out->begin() + static_cast<ptrdiff_t>(offset));
}

// Appends an SMBIOS structure: header, fields, strings (DSP0134, section 6.1).
void AppendStructure(uint8_t type, uint16_t handle, const Bytes& fields,
                     std::initializer_list<absl::string_view> strings, Bytes* out) {
  out->push_back(type);
  out->push_back(static_cast<uint8_t>(4 + fields.size()));
  AppendLittleEndian(handle, out);
  out->insert(out->end(), fields.begin(), fields.end());
  for (const absl::string_view text : strings) {
    out->insert(out->end(), text.begin(), text.end());
    out->push_back(0);
  }
  if (strings.size() == 0) out->push_back(0);
  out->push_back(0);
}

Bytes MakeMountPoint(const Bytes& substitute, const Bytes& print) {
  Bytes data;
  AppendLittleEndian(kReparseTagMountPoint, &data);
  // Both names end with a NUL, unlike the names of a symbolic link.
  for (const size_t number :
       {8 + substitute.size() + 2 + print.size() + 2, size_t{0} /* Reserved */, size_t{0},
        substitute.size(), substitute.size() + 2, print.size()}) {
    AppendLittleEndian(static_cast<uint16_t>(number), &data);
  }
  for (const Bytes* name : {&substitute, &print}) {
    data.insert(data.end(), name->begin(), name->end());
    data.resize(data.size() + 2);
  }
  return data;
}

}  // namespace

Bytes MakeDeviceIds(const std::vector<DeviceIdentifier>& identifiers) {
  Bytes descriptor;
  AppendLittleEndian<uint32_t>(16, &descriptor);  // Version: sizeof, with padding
  AppendLittleEndian<uint32_t>(0, &descriptor);   // Size: see below
  AppendLittleEndian(static_cast<uint32_t>(identifiers.size()), &descriptor);
  for (size_t i = 0; i < identifiers.size(); ++i) {
    const DeviceIdentifier& id = identifiers[i];
    const size_t padding = (4 - id.bytes.size() % 4) % 4;
    const size_t next = i + 1 < identifiers.size() ? 16 + id.bytes.size() + padding : 0;
    AppendLittleEndian(static_cast<uint32_t>(id.code_set), &descriptor);
    AppendLittleEndian(static_cast<uint32_t>(id.type), &descriptor);
    AppendLittleEndian(static_cast<uint16_t>(id.bytes.size()), &descriptor);
    AppendLittleEndian(static_cast<uint16_t>(next), &descriptor);
    AppendLittleEndian(static_cast<uint32_t>(id.association), &descriptor);
    descriptor.insert(descriptor.end(), id.bytes.begin(), id.bytes.end());
    descriptor.resize(descriptor.size() + padding);
  }
  PutLittleEndian(static_cast<uint32_t>(descriptor.size()), 4, &descriptor);
  return descriptor;
}

Bytes MakeScsiAddress(const ScsiAddress& address) {
  Bytes answer;
  AppendLittleEndian<uint32_t>(8, &answer);  // Length
  answer.insert(answer.end(), {address.port, address.path, address.target, address.lun});
  return answer;
}

Bytes MakeDeviceNumber(const DeviceNumber& number) {
  Bytes answer;
  AppendLittleEndian(number.device_type, &answer);
  AppendLittleEndian(number.device_number, &answer);
  AppendLittleEndian(number.partition_number, &answer);
  return answer;
}

Bytes MakeIsDirty(bool is_dirty) {
  Bytes answer;
  AppendLittleEndian<uint32_t>(is_dirty ? 1 : 0, &answer);
  return answer;
}

Bytes MakeLength(uint64_t length) {
  Bytes answer;
  AppendLittleEndian(length, &answer);
  return answer;
}

Bytes MakeDiskAttributes(const DiskAttributes& attributes) {
  Bytes answer;
  AppendLittleEndian<uint32_t>(16, &answer);  // Version: sizeof
  AppendLittleEndian<uint32_t>(0, &answer);   // Reserved1
  AppendLittleEndian(ToBits(attributes), &answer);
  return answer;
}

Bytes MakeDriveLayout(LayoutStyle style, const std::vector<PartitionDescription>& partitions) {
  constexpr size_t kHeader = 48;
  constexpr size_t kEntry = 144;
  Bytes answer;
  AppendLittleEndian(static_cast<uint32_t>(style), &answer);
  AppendLittleEndian(static_cast<uint32_t>(partitions.size()), &answer);
  answer.resize(kHeader);  // DriveLayoutInformationMbr or Gpt
  for (const PartitionDescription& partition : partitions) {
    const size_t end = answer.size() + kEntry;
    AppendLittleEndian(static_cast<uint32_t>(style), &answer);
    AppendLittleEndian<uint32_t>(0, &answer);  // padding
    AppendLittleEndian(partition.offset, &answer);
    AppendLittleEndian(partition.length, &answer);
    AppendLittleEndian(partition.number, &answer);
    AppendLittleEndian<uint32_t>(0, &answer);  // RewritePartition, IsServicePartition, padding
    if (style == LayoutStyle::kGpt) {
      answer.insert(answer.end(), partition.gpt_type.begin(), partition.gpt_type.end());
      answer.resize(answer.size() + 16);  // PartitionId
      AppendLittleEndian(partition.gpt_attributes, &answer);
    } else {
      answer.push_back(partition.mbr_type);
      answer.push_back(partition.mbr_active ? 1 : 0);
      answer.push_back(partition.mbr_recognised ? 1 : 0);
    }
    answer.resize(end);
  }
  return answer;
}

Bytes MakeDiskExtents(const std::vector<DiskExtent>& extents) {
  Bytes answer;
  AppendLittleEndian(static_cast<uint32_t>(extents.size()), &answer);
  AppendLittleEndian<uint32_t>(0, &answer);  // padding
  for (const DiskExtent& extent : extents) {
    AppendLittleEndian(extent.disk_number, &answer);
    AppendLittleEndian<uint32_t>(0, &answer);  // padding
    AppendLittleEndian(extent.offset, &answer);
    AppendLittleEndian(extent.length, &answer);
  }
  return answer;
}

Bytes MakeSmbiosTable(absl::string_view serial_number) {
  Bytes table;
  // Section 7.1: string numbers of vendor and version, starting segment, string number of the date.
  Bytes bios = {1, 2, 0x00, 0xE8, 3};
  bios.resize(0x18 - 4);
  AppendStructure(0, 0, bios, {"Simulated", "1.0", "01/01/2024"}, &table);
  // Section 7.2: string numbers of manufacturer, product, version and serial number; UUID; wake-up
  // type; string numbers of SKU and family.
  Bytes system = {1, 2, 0, 3};
  system.resize(0x1B - 4);
  if (serial_number.empty()) {
    system[3] = 0;
    AppendStructure(1, 1, system, {"Simulated", "Node"}, &table);
  } else {
    AppendStructure(1, 1, system, {"Simulated", "Node", serial_number}, &table);
  }
  AppendStructure(127, 2, {}, {}, &table);

  Bytes data = {0, 3, 2, 0};  // calling method, version 3.2, DMI revision
  AppendLittleEndian(static_cast<uint32_t>(table.size()), &data);
  data.insert(data.end(), table.begin(), table.end());
  return data;
}

absl::StatusOr<PropertyQuery> ParsePropertyQuery(const Bytes& request) {
  LittleEndianReader reader(request);
  PropertyQuery query;
  query.property_id = reader.Read<uint32_t>();
  query.query_type = reader.Read<uint32_t>();
  if (!reader.ok()) return absl::InvalidArgumentError("STORAGE_PROPERTY_QUERY is cut short");
  return query;
}

absl::StatusOr<uint64_t> ParseExtendVolume(const Bytes& request) {
  LittleEndianReader reader(request);
  const auto sectors = reader.Read<uint64_t>();
  if (!reader.ok()) return absl::InvalidArgumentError("the number of sectors is cut short");
  return sectors;
}

absl::StatusOr<DiskAttributesChange> ParseSetDiskAttributes(const Bytes& request) {
  LittleEndianReader reader(request);
  const auto version = reader.Read<uint32_t>();
  const auto persist = reader.Read<uint8_t>();
  const auto reserved1 = reader.Take(3);
  const auto attributes = reader.Read<uint64_t>();
  const auto mask = reader.Read<uint64_t>();
  const auto reserved2 = reader.Take(16);
  if (!reader.ok()) return absl::InvalidArgumentError("SET_DISK_ATTRIBUTES is cut short");
  if (version != kSetDiskAttributesSize) {
    return absl::InvalidArgumentError("SET_DISK_ATTRIBUTES is of another version");
  }
  const auto is_zero = [](uint8_t byte) { return byte == 0; };
  if (!std::all_of(reserved1.begin(), reserved1.end(), is_zero) ||
      !std::all_of(reserved2.begin(), reserved2.end(), is_zero) || persist > 1 ||
      ((attributes | mask) & ~(kOffline | kReadOnly)) != 0) {
    return absl::InvalidArgumentError("SET_DISK_ATTRIBUTES uses what is reserved");
  }
  return DiskAttributesChange{
      .persist = persist != 0, .attributes = FromBits(attributes), .mask = FromBits(mask)};
}

Bytes MakeMountPoint(const VolumeId& volume) {
  return MakeMountPoint(ToUtf16Le(absl::StrCat(R"(\??\Volume{)", volume.guid(), R"(}\)")), {});
}

absl::StatusOr<Bytes> MakeJunction(const WindowsPath& target) {
  const std::string path = target.ToString();
  Bytes data = MakeMountPoint(ToUtf16Le(absl::StrCat(R"(\??\)", path)), ToUtf16Le(path));
  if (data.size() <= kMaxReparseData) return data;
  return absl::InvalidArgumentError(
      absl::StrCat("a path of ", path.size(), " bytes is too long to be the target of a junction"));
}

}  // namespace csi_proxy::machine
