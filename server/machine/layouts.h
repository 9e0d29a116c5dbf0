// Makes the input of control codes for disks and volumes, and parses the output. The layouts are
// those of winioctl.h, ntddstor.h and ntddscsi.h (learn.microsoft.com/windows/win32/api/winioctl).
// Also parses the firmware's SMBIOS table. Pure functions that trust no size or offset in the
// bytes. All numbers are little-endian.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/machine/os.h"

namespace csi_proxy::machine {

// Control codes, defined here because other systems lack winioctl.h, and mingw-w64 lacks the codes
// of disk attributes.
namespace control {
inline constexpr uint32_t kGetDeviceNumber = 0x2D1080;       // IOCTL_STORAGE_GET_DEVICE_NUMBER
inline constexpr uint32_t kQueryProperty = 0x2D1400;         // IOCTL_STORAGE_QUERY_PROPERTY
inline constexpr uint32_t kGetScsiAddress = 0x41018;         // IOCTL_SCSI_GET_ADDRESS
inline constexpr uint32_t kGetLength = 0x7405C;              // IOCTL_DISK_GET_LENGTH_INFO
inline constexpr uint32_t kUpdateDriveSize = 0x7C0C8;        // IOCTL_DISK_UPDATE_DRIVE_SIZE
inline constexpr uint32_t kGetDriveLayout = 0x70050;         // IOCTL_DISK_GET_DRIVE_LAYOUT_EX
inline constexpr uint32_t kGetDiskAttributes = 0x700F0;      // IOCTL_DISK_GET_DISK_ATTRIBUTES
inline constexpr uint32_t kSetDiskAttributes = 0x7C0F4;      // IOCTL_DISK_SET_DISK_ATTRIBUTES
inline constexpr uint32_t kGetVolumeDiskExtents = 0x560000;  // IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS
inline constexpr uint32_t kDismountVolume = 0x90020;         // FSCTL_DISMOUNT_VOLUME
inline constexpr uint32_t kIsVolumeDirty = 0x90078;          // FSCTL_IS_VOLUME_DIRTY
inline constexpr uint32_t kExtendVolume = 0x900F0;           // FSCTL_EXTEND_VOLUME
}  // namespace control

// The largest answers that are accepted, in bytes.
inline constexpr size_t kMaxDeviceIds = 64 * 1024;
inline constexpr size_t kMaxDriveLayout = 64 * 1024;
inline constexpr size_t kMaxExtents = 64 * 1024;

// Returns a STORAGE_PROPERTY_QUERY for StorageDeviceIdProperty, SCSI's page 83.
Bytes DeviceIdQuery();

// The identifiers of a disk.
struct DeviceIds {
  // The first non-empty identifier of the device (not of a port or target) whose code set is ASCII
  // or binary; empty if there is none. Printable ASCII is kept as text, without trailing NULs and
  // spaces. Any other identifier becomes lower-case hexadecimal.
  std::string page83;
  // The device's first EUI-64 or NGUID, in lower-case hexadecimal.
  std::string eui;
  // From the SCSI name string, which NVMe 1.0 devices and EC2's devices have; 0 without one.
  uint32_t nvme_namespace_id = 0;
  // True for EC2's name string: its parts are in reverse order.
  bool is_nvme_name_reversed = false;
};
// Parses a STORAGE_DEVICE_ID_DESCRIPTOR. Returns INTERNAL if the bytes are malformed before
// `page83` has been found.
absl::StatusOr<DeviceIds> ParseDeviceIds(const Bytes& descriptor);

// SCSI_ADDRESS
// (learn.microsoft.com/windows-hardware/drivers/ddi/ntddscsi/ns-ntddscsi-_scsi_address).
struct ScsiAddress {
  uint8_t port = 0;
  uint8_t path = 0;
  uint8_t target = 0;
  uint8_t lun = 0;
};
absl::StatusOr<ScsiAddress> ParseScsiAddress(const Bytes& answer);

// STORAGE_DEVICE_NUMBER.
struct DeviceNumber {
  uint32_t device_type = 0;
  uint32_t device_number = 0;
  // 0xFFFFFFFF for a device without partitions.
  uint32_t partition_number = 0;
};
absl::StatusOr<DeviceNumber> ParseDeviceNumber(const Bytes& answer);

// Parses GET_LENGTH_INFORMATION, in bytes. Returns INTERNAL for a negative length.
absl::StatusOr<uint64_t> ParseLength(const Bytes& answer);

// GET_DISK_ATTRIBUTES.
struct DiskAttributes {
  bool is_offline = false;
  bool is_read_only = false;
};
absl::StatusOr<DiskAttributes> ParseDiskAttributes(const Bytes& answer);
// Returns a SET_DISK_ATTRIBUTES that clears the read-only flag persistently.
Bytes ClearReadOnlyRequest();

// One PARTITION_INFORMATION_EX of a DRIVE_LAYOUT_INFORMATION_EX.
struct PartitionEntry {
  // Counts from 1.
  uint32_t number = 0;
  // In bytes.
  uint64_t offset = 0;
  // True for a partition of a dynamic disk.
  bool is_dynamic = false;
  // True for Microsoft's reserved partition, which never holds a volume.
  bool is_reserved = false;
  // True if the volume of a GPT partition accepts no writes, whatever the disk's flag says.
  bool is_read_only = false;
  // True if the firmware starts from the partition; only on an MBR disk.
  bool is_active = false;
  // True if the mount manager surely makes a volume of the partition; it may of others too. On GPT:
  // basic data that is not hidden. On MBR: one that Windows recognises, except an extended one.
  bool holds_volume = false;
};
// Parses a DRIVE_LAYOUT_INFORMATION_EX. Returns the partitions in use, in the order of the disk's
// table. A raw disk has no partitions. Returns INTERNAL if the bytes are malformed.
absl::StatusOr<std::vector<PartitionEntry>> ParseDriveLayout(const Bytes& answer);

// Returns the input of FSCTL_EXTEND_VOLUME: the new size of the file system in sectors.
Bytes ExtendVolumeRequest(uint64_t sectors);

// Returns true if the file system will be checked at the next start. Parses the answer of
// FSCTL_IS_VOLUME_DIRTY.
absl::StatusOr<bool> ParseIsDirty(const Bytes& answer);

// A range of a disk that belongs to a volume.
struct DiskExtent {
  uint32_t disk_number = 0;
  // In bytes.
  uint64_t offset = 0;
  uint64_t length = 0;

  friend bool operator==(const DiskExtent&, const DiskExtent&) = default;
};
// Parses VOLUME_DISK_EXTENTS. Returns at least one extent, in the order of the volume, or INTERNAL
// if the bytes are malformed.
absl::StatusOr<std::vector<DiskExtent>> ParseDiskExtents(const Bytes& answer);

// Returns the machine's serial number from RawSMBIOSData
// (learn.microsoft.com/windows/win32/api/sysinfoapi/nf-sysinfoapi-getsystemfirmwaretable).
// Win32_BIOS reports the same number. It is a string of the structure System Information (type 1;
// DMTF DSP0134, section 7.2), or "" if the structure has none. Returns INTERNAL for a malformed
// table, and NOT_FOUND for a table without System Information.
absl::StatusOr<std::string> ParseSystemSerialNumber(const Bytes& raw_smbios_data);

}  // namespace csi_proxy::machine
