// Reads the description of a disk from its MSFT_Disk
// (learn.microsoft.com/windows-hardware/drivers/storage/msft-disk).
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "server/host/disk_host.h"
#include "server/machine/cim/value.h"
#include "server/machine/layouts.h"
#include "server/machine/os.h"

namespace csi_proxy::host {

absl::StatusOr<PartitionStyle> StyleOf(const cim::Object& disk);

// The page 83 id in MSFT_Disk, for a disk that cannot be asked itself; else empty.
std::string UniqueIdOf(const cim::Object& disk);

// Returns the place at which a disk hangs. Azure's NVMe disks all have the same Location, without a
// LUN. Azure makes its LUN + 2 the id of a namespace, and 1 that of the disk of Windows
// (github.com/Azure/azure-vm-utils/pull/11); Windows addresses a namespace by its id - 1
// (github.com/MicrosoftDocs/win32/pull/1093). So azuredisk reads LUN 0 from a device path with
// `&000001` (github.com/kubernetes-sigs/azuredisk-csi-driver/pull/3632).
std::string LocationOf(machine::Os& os, uint32_t disk_number, const cim::Object& disk);

// Reads all properties of an MSFT_Disk. A property that is null, missing or odd says nothing.
DiskDescription DescribeDisk(uint32_t disk_number, const cim::Object& disk);

// Adds the disk's own answers.
void AddIds(const machine::DeviceIds& ids, DiskDescription* description);
// Adds the fields of MSFT_Disk, for a disk that did not answer.
void AddIdsFromWmi(const cim::Object& disk, DiskDescription* description);

// The types of basic data partitions, as MSFT_Partition spells them: of a GPT disk, and of an MBR
// disk (NTFS and its like).
inline constexpr char kBasicData[] = "{ebd0a0a2-b9e5-4433-87c0-68b6b72699c7}";
inline constexpr uint16_t kMbrIfs = 7;

// Returns true if the type of an MSFT_Partition can hold a volume.
absl::StatusOr<bool> IsBasic(const cim::Object& partition);
PartitionKind KindOf(const cim::Object& partition);

}  // namespace csi_proxy::host
