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

// Returns the page 83 id in MSFT_Disk, for a disk that does not answer; "" if there is none.
std::string UniqueIdOf(const cim::Object& disk);

// Returns the location of a disk. Azure's NVMe disks all have the same Location without a LUN, so
// the LUN is computed: on Azure, Windows' disk has namespace id 1, and a data disk has LUN + 2
// (github.com/Azure/azure-vm-utils/pull/11); Windows addresses a namespace by its id minus 1
// (github.com/MicrosoftDocs/win32/pull/1093). So azuredisk reads LUN 0 from a device path with
// `&000001` (github.com/kubernetes-sigs/azuredisk-csi-driver/pull/3632).
std::string LocationOf(machine::Os& os, uint32_t disk_number, const cim::Object& disk);

// Reads all properties of an MSFT_Disk. Ignores one that is null, missing or of another type.
DiskDescription DescribeDisk(uint32_t disk_number, const cim::Object& disk);

// Sets `page83`, and for an NVMe disk `eui` and `nvme_namespace_id`, from the disk's own answer.
void AddIds(const machine::DeviceIds& ids, DiskDescription* description);
// Sets `page83`, and for an NVMe disk `eui`, from MSFT_Disk, for a disk that did not answer.
void AddIdsFromWmi(const cim::Object& disk, DiskDescription* description);

// The types of basic data partitions as MSFT_Partition spells them: GPT, and MBR (NTFS and
// similar).
inline constexpr char kBasicData[] = "{ebd0a0a2-b9e5-4433-87c0-68b6b72699c7}";
inline constexpr uint16_t kMbrIfs = 7;

// Returns true if the type of an MSFT_Partition can hold a volume.
absl::StatusOr<bool> IsBasic(const cim::Object& partition);
PartitionKind KindOf(const cim::Object& partition);

}  // namespace csi_proxy::host
