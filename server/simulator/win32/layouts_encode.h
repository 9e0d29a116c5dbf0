// Encodes what layouts.h and reparse_point.h parse, and parses requests. Only doubles and tests may
// link it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/machine/layouts.h"
#include "server/machine/os.h"
#include "server/names/volume_id.h"
#include "server/names/windows_path.h"

namespace csi_proxy::machine {

// Values of STORAGE_IDENTIFIER, named after ntddstor.h's
// (learn.microsoft.com/windows-hardware/drivers/ddi/ntddstor/ns-ntddstor-_storage_identifier).
enum class CodeSet : uint32_t { kReserved = 0, kBinary = 1, kAscii = 2, kUtf8 = 3 };
enum class IdentifierType : uint32_t {
  kVendorSpecific = 0,
  kVendorId = 1,
  kEui64 = 2,
  kFcphName = 3,
  kScsiNameString = 8
};
enum class Association : uint32_t { kDevice = 0, kPort = 1, kTarget = 2 };

struct DeviceIdentifier {
  CodeSet code_set = CodeSet::kBinary;
  IdentifierType type = IdentifierType::kVendorSpecific;
  Association association = Association::kDevice;
  // At most 255 bytes, the limit of a SCSI device's answer.
  Bytes bytes;
};

// Returns a STORAGE_DEVICE_ID_DESCRIPTOR.
Bytes MakeDeviceIds(const std::vector<DeviceIdentifier>& identifiers);
// Returns a SCSI_ADDRESS.
Bytes MakeScsiAddress(const ScsiAddress& address);
// Returns a STORAGE_DEVICE_NUMBER.
Bytes MakeDeviceNumber(const DeviceNumber& number);
// Returns the answer of FSCTL_IS_VOLUME_DIRTY.
Bytes MakeIsDirty(bool is_dirty);
// Returns a GET_LENGTH_INFORMATION.
Bytes MakeLength(uint64_t length);
// Returns a GET_DISK_ATTRIBUTES.
Bytes MakeDiskAttributes(const DiskAttributes& attributes);
// The fields of a PARTITION_INFORMATION_EX.
struct PartitionDescription {
  uint32_t number = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
  // On a GPT disk: the type, laid out as a GUID in memory, and the attributes.
  std::array<uint8_t, 16> gpt_type = {};
  uint64_t gpt_attributes = 0;
  // On an MBR disk.
  uint8_t mbr_type = 0;
  bool mbr_recognised = false;
  bool mbr_active = false;
};
enum class LayoutStyle : uint32_t { kMbr = 0, kGpt = 1, kRaw = 2 };
// Returns a DRIVE_LAYOUT_INFORMATION_EX.
Bytes MakeDriveLayout(LayoutStyle style, const std::vector<PartitionDescription>& partitions);
// Returns a VOLUME_DISK_EXTENTS.
Bytes MakeDiskExtents(const std::vector<DiskExtent>& extents);

// Returns the number of sectors in a request of ExtendVolumeRequest(), or INVALID_ARGUMENT if the
// request is too short.
absl::StatusOr<uint64_t> ParseExtendVolume(const Bytes& request);

// Returns the RawSMBIOSData of a machine with this serial number (may be ""): BIOS information,
// system information, end of table.
Bytes MakeSmbiosTable(absl::string_view serial_number);

// The fields of a STORAGE_PROPERTY_QUERY.
struct PropertyQuery {
  uint32_t property_id = 0;
  uint32_t query_type = 0;
};
// Parses a STORAGE_PROPERTY_QUERY. Returns INVALID_ARGUMENT if the request is too short.
absl::StatusOr<PropertyQuery> ParsePropertyQuery(const Bytes& request);

// A SET_DISK_ATTRIBUTES: the new attributes, and a mask of the attributes to change.
struct DiskAttributesChange {
  bool persist = false;
  DiskAttributes attributes;
  DiskAttributes mask;
};
// Parses a SET_DISK_ATTRIBUTES. Returns INVALID_ARGUMENT if the request is too short, has another
// version, or uses reserved bits.
absl::StatusOr<DiskAttributesChange> ParseSetDiskAttributes(const Bytes& request);

// Returns the reparse data that SetVolumeMountPointW writes: the substitute name
// `\??\Volume{guid}\` without a print name.
Bytes MakeMountPoint(const VolumeId& volume);
// Returns the bytes of a junction (`mklink /J`): a mount point's tag, substitute name `\??\C:\a\b`,
// print name `C:\a\b`. Returns INVALID_ARGUMENT for a path that does not fit.
absl::StatusOr<Bytes> MakeJunction(const WindowsPath& target);

}  // namespace csi_proxy::machine
