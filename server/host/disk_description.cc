#include "server/host/disk_description.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/base/fallbacks.h"
#include "server/base/status_macros.h"
#include "server/host/devices.h"
#include "server/host/storage_namespace.h"
#include "server/host/windows_use.h"

namespace csi_proxy::host {
namespace {

// MSFT_Disk.UniqueIdFormat: how to read a UniqueId that was made from page 83
// (learn.microsoft.com/windows-hardware/drivers/storage/msft-disk).
constexpr uint32_t kFormatVendorId = 1;
constexpr uint32_t kFormatEui64 = 2;
constexpr uint32_t kFormatFcphName = 3;
constexpr uint32_t kFormatScsiName = 8;

// BusType, by number; 0 is unknown.
constexpr const char* kBusTypes[] = {"",
                                     "SCSI",
                                     "ATAPI",
                                     "ATA",
                                     "1394",
                                     "SSA",
                                     "Fibre Channel",
                                     "USB",
                                     "RAID",
                                     "iSCSI",
                                     "SAS",
                                     "SATA",
                                     "SD",
                                     "MMC",
                                     "Virtual",
                                     "File Backed Virtual",
                                     "Storage Spaces",
                                     "NVMe"};
constexpr uint32_t kNvme = 17;

// OfflineReason, by number; there is no 0.
constexpr const char* kOfflineReasons[] = {"",
                                           "Policy",
                                           "Redundant Path",
                                           "Snapshot",
                                           "Collision",
                                           "Resource Exhaustion",
                                           "Critical Write Failures",
                                           "Data Integrity Scan Required"};

// HealthStatus, by number.
constexpr const char* kDiskHealth[] = {"Healthy", "Warning", "Unhealthy"};

std::string TextOf(const cim::Object& disk, const char* property) {
  return disk.GetStringOr(property, "").value_or("");
}

bool IsHexadecimal(absl::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
}

// The GPT types of partitions that hold no user's volume: reserved, EFI system, recovery, LDM.
constexpr char kReserved[] = "{e3c9e316-0b5c-4db8-817d-f92df00215ae}";
constexpr const char* kLdm[] = {"{5808c8aa-7e8f-42e0-85d2-e1e90434cfb3}",
                                "{af9b60a0-1431-4f62-bc68-3311714a69ad}"};
constexpr const char* kNoData[] = {kReserved, "{c12a7328-f81f-11d2-ba4b-00a0c93ec93b}",
                                   "{de94bba4-06d1-4d40-a16a-bfd50179d6ac}", kLdm[0], kLdm[1]};
// PARTITION_LDM.
constexpr uint16_t kMbrLdm = 0x42;

}  // namespace

absl::StatusOr<PartitionStyle> StyleOf(const cim::Object& disk) {
  ABSL_ASSIGN_OR_RETURN(const auto style, disk.GetUint32Or("PartitionStyle", 0));
  switch (style) {
    case 1:
      return PartitionStyle::kMbr;
    case 2:
      return PartitionStyle::kGpt;
    default:
      return PartitionStyle::kRaw;
  }
}

std::string UniqueIdOf(const cim::Object& disk) {
  const auto format = disk.Get("UniqueIdFormat");
  const auto id = disk.Get("UniqueId");
  if (!format.ok() || format->is_null() || !id.ok() || id->is_null()) return "";
  const auto number = format->AsUint32();
  const auto text = id->AsText();
  if (!number.ok() || !text.ok()) return "";
  switch (*number) {
    case kFormatEui64:
    case kFormatFcphName:
      return absl::AsciiStrToLower(*text);
    case kFormatVendorId:
    case kFormatScsiName:
      return *text;
    default:
      return "";
  }
}

std::string LocationOf(machine::Os& os, uint32_t disk_number, const cim::Object& disk) {
  // github.com/kubernetes-sigs/azuredisk-csi-driver/issues/2365
  constexpr absl::string_view kAzureNvme = "MSFT NVMe Accelerator";
  std::string location = TextOf(disk, "Location");
  const bool is_azures = absl::StartsWith(TextOf(disk, "FriendlyName"), kAzureNvme);
  if (!is_azures || absl::StrContains(location, "LUN")) return location;
  const absl::StatusOr<uint32_t> lun = AskForScsiLun(os, disk_number, TextOf(disk, "Path"));
  if (!lun.ok()) RecordRefusal(Fallback::kAzureLunUnknown, lun.status(), kUnknownRequest);
  if (lun.ok() && *lun > 0) absl::StrAppend(&location, " : LUN ", *lun - 1);
  return location;
}

DiskDescription DescribeDisk(uint32_t disk_number, const cim::Object& disk) {
  DiskDescription description;
  description.disk_number = disk_number;
  description.bus_type = NameOf(disk, "BusType", kBusTypes);
  description.path = TextOf(disk, "Path");
  description.serial_number = std::string(absl::StripAsciiWhitespace(TextOf(disk, "SerialNumber")));
  description.unique_id = TextOf(disk, "UniqueId");
  description.location = TextOf(disk, "Location");
  description.size_bytes = disk.GetUint64("Size").value_or(0);
  description.sector_bytes = disk.GetUint32("LogicalSectorSize").value_or(0);
  description.style = StyleOf(disk).value_or(PartitionStyle::kRaw);
  description.is_boot = IsOrMayBe(disk, "IsBoot");
  description.is_system = IsOrMayBe(disk, "IsSystem");
  description.is_online = !disk.GetBoolean("IsOffline").value_or(false);
  description.is_read_only = disk.GetBoolean("IsReadOnly").value_or(false);
  if (!description.is_online) {
    description.offline_reason = NameOf(disk, "OfflineReason", kOfflineReasons);
  }
  description.health = NameOf(disk, "HealthStatus", kDiskHealth);
  return description;
}

void AddIds(const machine::DeviceIds& ids, DiskDescription* description) {
  description->page83 = ids.page83;
  // A SCSI disk may have an EUI-64 as well.
  if (description->bus_type != kBusTypes[kNvme]) return;
  description->eui = ids.eui;
  description->nvme_namespace_id = ids.nvme_namespace_id;
  if (ids.is_nvme_name_reversed) RecordFallback(Fallback::kNamespaceReversed);
}

void AddIdsFromWmi(const cim::Object& disk, DiskDescription* description) {
  description->page83 = UniqueIdOf(disk);
  if (description->bus_type != kBusTypes[kNvme]) return;
  if (disk.GetUint32Or("UniqueIdFormat", 0).value_or(0) != kFormatEui64) return;
  absl::string_view eui = description->page83;
  absl::ConsumePrefix(&eui, "eui.");
  if ((eui.size() == 16 || eui.size() == 32) && IsHexadecimal(eui)) {
    description->eui = std::string(eui);
  }
}

absl::StatusOr<bool> IsBasic(const cim::Object& partition) {
  // A partition without a GPT type lies on an MBR disk and counts as data.
  ABSL_ASSIGN_OR_RETURN(const auto type, partition.GetStringOr("GptType", kBasicData));
  return std::none_of(std::begin(kNoData), std::end(kNoData),
                      [&](const char* other) { return absl::EqualsIgnoreCase(type, other); });
}

PartitionKind KindOf(const cim::Object& partition) {
  const std::string type = partition.GetStringOr("GptType", "").value_or("");
  const uint32_t mbr_type = type.empty() ? partition.GetUint32("MbrType").value_or(0) : 0;
  if (absl::EqualsIgnoreCase(type, kReserved)) return PartitionKind::kReserved;
  const bool is_dynamic = std::any_of(std::begin(kLdm), std::end(kLdm), [&](const char* ldm) {
    return absl::EqualsIgnoreCase(type, ldm);
  });
  if (is_dynamic || mbr_type == kMbrLdm) return PartitionKind::kDynamic;
  const bool is_data = mbr_type == kMbrIfs || absl::EqualsIgnoreCase(type, kBasicData);
  return is_data ? PartitionKind::kData : PartitionKind::kOther;
}

}  // namespace csi_proxy::host
