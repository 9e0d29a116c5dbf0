// A call's view of a disk, from its MSFT_Disk, its MSFT_Partitions and the disk's own answers
// (learn.microsoft.com/windows-hardware/drivers/storage/msft-disk).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/disk/hub.h"
#include "csi_proxy/storage/hub.h"
#include "server/machine/cim/value.h"
#include "server/machine/os.h"

namespace csi_proxy::host {

using storage::PartitionStyle;

enum class PartitionKind {
  // The basic data partition type of the disk's partition style.
  kData,
  // Microsoft's reserved partition, which Windows creates on every GPT disk.
  kReserved,
  // A partition of a dynamic disk.
  kDynamic,
  // Any other type: EFI system, recovery, FAT of an MBR disk, or a type of another system.
  kOther,
};

struct Partition {
  // Counted from 1.
  uint32_t partition_number = 0;
  // False only for the GPT types reserved, EFI system, recovery and LDM.
  bool is_basic = false;
  PartitionKind kind = PartitionKind::kOther;
};

// The facts about a disk at one time. A field that Windows does not report is empty, 0 or false,
// except `is_online`, which is then true.
struct DiskDescription : storage::DiskInfo {
  // The path of the disk's MSFT_Disk.
  std::string object;
  // The serial number with its surrounding spaces, as ListDiskIDs returns it.
  std::string padded_serial_number;
  // The size of a logical sector; 0 if unknown.
  uint32_t sector_bytes = 0;
  // `Healthy`, `Warning`, `Unhealthy`, or a number that Microsoft's page does not list.
  std::string health;
  // Why the disk itself did not report its identifiers; otherwise OK. With an error, `page83` and
  // `eui` are WMI's.
  absl::Status status;
  // Set only by DiskHost::GetLayout().
  std::vector<Partition> partitions;

  // Returns true if Windows runs on the disk or starts from it; see windows_use.h.
  bool has_windows() const { return is_boot || is_system; }
};

// Parses an MSFT_Disk.Location such as `Integrated : Bus 0 : Device 30 : Function 0 : Adapter 0 :
// Port 1 : Target 2 : LUN 3`. Returns the numbers after Adapter, Bus (or Port if there is no Bus),
// Target and LUN. A part that is missing or not a number is empty: most NVMe disks have no LUN.
disk::DiskLocation ParseLocation(absl::string_view text);

// Reads an MSFT_Disk. Ignores properties that are missing, null or of another type, but IsBoot and
// IsSystem of another type count as true.
DiskDescription DescribeDisk(uint32_t disk_number, const cim::Object& disk);

// Returns UNAVAILABLE if two descriptions with one disk number are of different disks.
absl::Status CheckSame(const DiskDescription& earlier, const DiskDescription& now);
// Returns the error of CheckSame().
absl::Status AnotherDisk(uint32_t disk_number);

// Returns UNAVAILABLE if the device at the path of a disk has another number on this node now.
// Returns OK if the device does not answer.
absl::Status CheckLocal(machine::Os& os, const DiskDescription& disk);

// Sets the LUN of an NVMe disk of Azure; no change for other disks. Azure's NVMe disks all have the
// same Location, without a LUN, so the LUN is computed from the namespace id. On Azure, Windows'
// disk has id 1, and a data disk has its LUN + 2 (github.com/Azure/azure-vm-utils/pull/11). Windows
// addresses a namespace by its id minus 1 (github.com/MicrosoftDocs/win32/pull/1093). So azuredisk
// reads LUN 0 from a device path with `&000001`
// (github.com/kubernetes-sigs/azuredisk-csi-driver/pull/3632).
void AddAzureLun(machine::Os& os, const cim::Object& disk, DiskDescription* description);

// Returns the disk's own page 83 identifier, or "" if it does not answer or has none.
std::string Page83Of(machine::Os& os, const DiskDescription& disk);

// Queries the disk for `page83`, and an NVMe disk for `eui` and `nvme_namespace_id`. If the disk
// does not answer, sets `status` and reads WMI's values of `page83` and `eui`.
void AddIds(machine::Os& os, const cim::Object& disk, DiskDescription* description);

// Reads the read-only flag from the disk itself, because SetReadOnly() clears it there while WMI
// may still show its cached flag. Keeps WMI's flag if the disk does not answer.
void AddReadOnly(machine::Os& os, DiskDescription* description);

// The types of a basic data partition: MSFT_Partition.GptType, and MbrType (NTFS and similar).
inline constexpr char kBasicData[] = "{ebd0a0a2-b9e5-4433-87c0-68b6b72699c7}";
inline constexpr uint16_t kMbrIfs = 7;

// Returns the value of Partition::is_basic for an MSFT_Partition.
absl::StatusOr<bool> IsBasic(const cim::Object& partition);
PartitionKind KindOf(const cim::Object& partition);

}  // namespace csi_proxy::host
