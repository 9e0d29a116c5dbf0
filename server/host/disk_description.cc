#include "server/host/disk_description.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/base/fallbacks.h"
#include "server/base/status_macros.h"
#include "server/host/devices.h"
#include "server/host/storage_namespace.h"
#include "server/host/windows_use.h"
#include "server/names/win32_error.h"

namespace csi_proxy::host {
namespace {

// The values of MSFT_Disk.UniqueIdFormat for a UniqueId that was made from page 83
// (learn.microsoft.com/windows-hardware/drivers/storage/msft-disk).
constexpr uint32_t kFormatVendorId = 1;
constexpr uint32_t kFormatEui64 = 2;
constexpr uint32_t kFormatFcphName = 3;
constexpr uint32_t kFormatScsiName = 8;

// The names of MSFT_Disk.BusType, by number. The name of 0, an unknown type, is empty.
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

// The names of MSFT_Disk.OfflineReason, by number. No reason has the number 0.
constexpr const char* kOfflineReasons[] = {"",
                                           "Policy",
                                           "Redundant Path",
                                           "Snapshot",
                                           "Collision",
                                           "Resource Exhaustion",
                                           "Critical Write Failures",
                                           "Data Integrity Scan Required"};

// The names of MSFT_Disk.HealthStatus, by number.
constexpr const char* kDiskHealth[] = {"Healthy", "Warning", "Unhealthy"};

std::string TextOf(const cim::Object& disk, const char* property) {
  return disk.GetStringOr(property, "").value_or("");
}

bool IsHexadecimal(absl::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
}

// The GPT types of partitions that are not basic: reserved, EFI system, recovery and LDM.
constexpr char kReserved[] = "{e3c9e316-0b5c-4db8-817d-f92df00215ae}";
constexpr const char* kLdm[] = {"{5808c8aa-7e8f-42e0-85d2-e1e90434cfb3}",
                                "{af9b60a0-1431-4f62-bc68-3311714a69ad}"};
constexpr const char* kNoData[] = {kReserved, "{c12a7328-f81f-11d2-ba4b-00a0c93ec93b}",
                                   "{de94bba4-06d1-4d40-a16a-bfd50179d6ac}", kLdm[0], kLdm[1]};
// PARTITION_LDM.
constexpr uint16_t kMbrLdm = 0x42;

// Returns the page 83 id in MSFT_Disk, or "" if there is none. For a disk that does not answer.
std::string UniqueIdOf(const cim::Object& disk) {
  const std::string text = TextOf(disk, "UniqueId");
  switch (disk.GetUint32Or("UniqueIdFormat", 0).value_or(0)) {
    case kFormatEui64:
    case kFormatFcphName:
      return absl::AsciiStrToLower(text);
    case kFormatVendorId:
    case kFormatScsiName:
      return text;
    default:
      return "";
  }
}

}  // namespace

disk::DiskLocation ParseLocation(absl::string_view text) {
  disk::DiskLocation location;
  std::string port;
  const std::pair<absl::string_view, std::string*> parts[] = {
      {"Adapter ", &location.adapter}, {"Bus ", &location.bus},    {"Port ", &port},
      {"Target ", &location.target},   {"LUN ", &location.lun_id},
  };
  for (absl::string_view part : absl::StrSplit(text, ':')) {
    part = absl::StripAsciiWhitespace(part);
    for (const auto& [prefix, out] : parts) {
      absl::string_view number = part;
      uint32_t value;
      if (absl::ConsumePrefix(&number, prefix) && absl::SimpleAtoi(number, &value)) {
        *out = absl::StrCat(value);
      }
    }
  }
  if (location.bus.empty()) location.bus = std::move(port);
  return location;
}

DiskDescription DescribeDisk(uint32_t disk_number, const cim::Object& disk) {
  DiskDescription description;
  description.number = disk_number;
  description.object = disk.path();
  description.bus_type = NameOf(disk, "BusType", kBusTypes);
  description.path = TextOf(disk, "Path");
  description.padded_serial_number = TextOf(disk, "SerialNumber");
  description.serial_number =
      std::string(absl::StripAsciiWhitespace(description.padded_serial_number));
  description.unique_id = TextOf(disk, "UniqueId");
  disk::DiskLocation location = ParseLocation(TextOf(disk, "Location"));
  description.adapter = std::move(location.adapter);
  description.bus = std::move(location.bus);
  description.target = std::move(location.target);
  description.lun_id = std::move(location.lun_id);
  // Reads a missing or impossible size as 0, so that the disk is still listed.
  description.size_bytes =
      std::max<int64_t>(static_cast<int64_t>(disk.GetUint64("Size").value_or(0)), 0);
  description.sector_bytes = disk.GetUint32("LogicalSectorSize").value_or(0);
  const uint32_t style = disk.GetUint32Or("PartitionStyle", 0).value_or(0);
  description.partition_style = style == 1   ? PartitionStyle::kMbr
                                : style == 2 ? PartitionStyle::kGpt
                                             : PartitionStyle::kRaw;
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

void AddAzureLun(machine::Os& os, const cim::Object& disk, DiskDescription* description) {
  // github.com/kubernetes-sigs/azuredisk-csi-driver/issues/2365
  constexpr absl::string_view kAzureNvme = "MSFT NVMe Accelerator";
  if (!absl::StartsWith(TextOf(disk, "FriendlyName"), kAzureNvme) ||
      absl::StrContains(TextOf(disk, "Location"), "LUN")) {
    return;
  }
  const absl::StatusOr<uint32_t> lun = AskForScsiLun(os, description->number, description->path);
  if (!lun.ok()) RecordRefusal(Fallback::kAzureLunUnknown, lun.status(), kUnknownRequest);
  if (lun.ok() && *lun > 0) description->lun_id = absl::StrCat(*lun - 1);
}

std::string Page83Of(machine::Os& os, const DiskDescription& disk) {
  return AskForDeviceIds(os, disk.number, disk.path).value_or(machine::DeviceIds()).page83;
}

void AddIds(machine::Os& os, const cim::Object& disk, DiskDescription* description) {
  // Sets `eui` only for an NVMe disk, although a SCSI disk may also have an EUI-64.
  const bool is_nvme = description->bus_type == kBusTypes[kNvme];
  const auto ids = AskForDeviceIds(os, description->number, description->path);
  if (ids.ok()) {
    description->page83 = ids->page83;
    if (!is_nvme) return;
    description->eui = ids->eui;
    description->nvme_namespace_id = ids->nvme_namespace_id;
    if (ids->is_nvme_name_reversed) RecordFallback(Fallback::kNamespaceReversed);
    return;
  }
  description->status =
      Prefixed(absl::StrCat("reading page 83 of disk ", description->number), ids.status());
  RecordRefusal(Fallback::kPage83FromWmi, description->status, {win32_error::kAccessDenied});
  description->page83 = UniqueIdOf(disk);
  if (!is_nvme || disk.GetUint32Or("UniqueIdFormat", 0).value_or(0) != kFormatEui64) return;
  absl::string_view eui = description->page83;
  absl::ConsumePrefix(&eui, "eui.");
  if ((eui.size() == 16 || eui.size() == 32) && IsHexadecimal(eui)) {
    description->eui = std::string(eui);
  }
}

absl::StatusOr<bool> IsBasic(const cim::Object& partition) {
  // A partition without a GPT type is on an MBR disk and counts as data.
  ABSL_ASSIGN_OR_RETURN(const auto type, partition.GetStringOr("GptType", kBasicData));
  return std::none_of(std::begin(kNoData), std::end(kNoData),
                      [&](const char* other) { return absl::EqualsIgnoreCase(type, other); });
}

absl::Status CheckSame(const DiskDescription& earlier, const DiskDescription& now) {
  if (now.path == earlier.path && now.serial_number == earlier.serial_number &&
      now.unique_id == earlier.unique_id) {
    return absl::OkStatus();
  }
  return AnotherDisk(now.number);
}

absl::Status AnotherDisk(uint32_t disk_number) {
  return absl::UnavailableError(
      absl::StrCat("disk ", disk_number, " has become another disk: repeat the call"));
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

absl::Status CheckLocal(machine::Os& os, const DiskDescription& disk) {
  const absl::Status local = CheckDevice(os, disk.number, disk.path);
  // An error of Windows itself does not show that another disk has the number.
  if (!absl::IsUnavailable(local) || Win32CodeOf(local).has_value()) return absl::OkStatus();
  return Prefixed(absl::StrCat("disk ", disk.number), local);
}

void AddReadOnly(machine::Os& os, DiskDescription* description) {
  const auto now = GetDiskAttributes(os, description->number);
  if (now.ok()) description->is_read_only = now->is_read_only;
}

}  // namespace csi_proxy::host
