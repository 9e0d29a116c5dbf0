// Disks: listed and changed through WMI, queried for details on the device itself.
#include "server/host/disk_host.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/fallbacks.h"
#include "server/base/status_macros.h"
#include "server/host/devices.h"
#include "server/host/disk_description.h"
#include "server/host/windows_use.h"
#include "server/machine/cim/errors.h"
#include "server/machine/layouts.h"
#include "server/names/win32_error.h"

namespace csi_proxy::host {
namespace {

using cim::Namespace;
using cim::Value;

constexpr uint16_t kStyleGpt = 2;
// How long ReadContents() waits for a disk, and for WMI.
constexpr absl::Duration kReadPatience = absl::Milliseconds(300);
constexpr absl::Duration kPartitionPatience = absl::Seconds(1);
// Keeps the log from filling on a node whose disks come and go.
constexpr size_t kMaxWarnings = 100;

// Returns the name of the change that brings a disk online for DetachedRuns.
std::string ComingOnlineName(uint32_t disk_number) {
  return absl::StrCat(DiskName(disk_number), " coming online");
}

absl::Status NotShown(absl::string_view what) {
  return absl::UnavailableError(
      absl::StrCat(what, "; restart the node's service smphost (enable it if disabled)"));
}

// Returns UNAVAILABLE if the device of an MSFT_Disk has another number now or belongs to another
// node of a failover cluster; OK if the device does not answer.
absl::Status CheckLocal(machine::Os& os, uint32_t disk_number, const cim::Object& disk) {
  const absl::Status local =
      CheckDevice(os, disk_number, disk.GetStringOr("Path", "").value_or(""));
  return absl::IsUnavailable(local) ? Prefixed(absl::StrCat("disk ", disk_number), local)
                                    : absl::OkStatus();
}

// Reads the read-only flag from the disk itself, because SetReadOnly() clears it there while WMI
// may still show its cached flag. Keeps WMI's flag if the disk does not answer.
void AddReadOnly(machine::Os& os, DiskDescription* description) {
  const auto now = GetDiskAttributes(os, description->disk_number);
  if (now.ok()) description->is_read_only = now->is_read_only;
}

// Reads page 83 from the disk itself.
absl::StatusOr<machine::DeviceIds> ReadIds(machine::Os& os, uint32_t disk_number,
                                           const std::string& path) {
  absl::StatusOr<machine::DeviceIds> ids = AskForDeviceIds(os, disk_number, path);
  if (ids.ok()) return ids;
  const absl::Status refused =
      Prefixed(absl::StrCat("reading page 83 of disk ", disk_number), ids.status());
  RecordRefusal(Fallback::kPage83FromWmi, refused, {win32_error::kAccessDenied});
  return refused;
}

}  // namespace

absl::StatusOr<std::vector<DiskLocationText>> DiskHost::ListDiskLocations(
    const CallContext& context) {
  const YieldSlot yielded(context);
  return locations_.Get(
      context, [this](const CallContext& run) -> absl::StatusOr<std::vector<DiskLocationText>> {
        std::vector<DiskLocationText> locations;
        ABSL_RETURN_IF_ERROR(ForEachDisk(run, [&](uint32_t number, const cim::Object& disk) {
          locations.push_back({number, LocationOf(os_, number, disk)});
        }));
        return locations;
      });
}

absl::StatusOr<std::vector<DiskIdentity>> DiskHost::ListDiskIdentities(const CallContext& context) {
  const YieldSlot yielded(context);
  return identities_.Get(
      context, [this](const CallContext& run) -> absl::StatusOr<std::vector<DiskIdentity>> {
        std::vector<DiskIdentity> identities;
        const absl::Status listed = ForEachDisk(run, [&](uint32_t number, const cim::Object& disk) {
          DiskIdentity& identity = identities.emplace_back();
          identity.disk_number = number;
          identity.serial_number = disk.GetStringOr("SerialNumber", "").value_or("");
          const absl::StatusOr<machine::DeviceIds> ids =
              ReadIds(os_, number, disk.GetStringOr("Path", "").value_or(""));
          // A disk that cannot be read must not hide the others.
          identity.page83 = ids.ok() ? ids->page83 : UniqueIdOf(disk);
          identity.status = ids.status();
        });
        if (!listed.ok()) return listed;
        return identities;
      });
}

absl::StatusOr<std::vector<DiskDescription>> DiskHost::ListDisks(const CallContext& context) {
  const YieldSlot yielded(context);
  return descriptions_.Get(
      context, [this](const CallContext& run) -> absl::StatusOr<std::vector<DiskDescription>> {
        std::vector<DiskDescription> descriptions;
        const absl::Status listed = ForEachDisk(run, [&](uint32_t number, const cim::Object& disk) {
          DiskDescription& description = descriptions.emplace_back(DescribeDisk(number, disk));
          const absl::StatusOr<machine::DeviceIds> ids = ReadIds(os_, number, description.path);
          if (ids.ok()) {
            AddIds(*ids, &description);
          } else {
            AddIdsFromWmi(disk, &description);
          }
          AddReadOnly(os_, &description);
          description.location = LocationOf(os_, number, disk);
          description.status = ids.status();
        });
        if (!listed.ok()) return listed;
        std::sort(descriptions.begin(), descriptions.end(),
                  [](const DiskDescription& a, const DiskDescription& b) {
                    return a.disk_number < b.disk_number;
                  });
        return descriptions;
      });
}

absl::StatusOr<DiskDescription> DiskHost::Describe(const CallContext& context,
                                                   uint32_t disk_number) {
  ABSL_ASSIGN_OR_RETURN(const cim::Object disk, FindDisk(context, disk_number));
  DiskDescription description = DescribeDisk(disk_number, disk);
  AddReadOnly(os_, &description);
  return description;
}

absl::StatusOr<std::map<uint32_t, std::string>> DiskHost::ListHealth(const CallContext& context) {
  std::map<uint32_t, std::string> health;
  ABSL_RETURN_IF_ERROR(ForEachDisk(context, [&](uint32_t number, const cim::Object& disk) {
    health.emplace(number, DescribeDisk(number, disk).health);
  }));
  return health;
}

void DiskHost::ReadContents(const CallContext& context, std::vector<DiskDescription>* disks) {
  std::map<uint32_t, std::set<PartitionKind>> kinds;
  const auto partitions = wmi_.Query(context.WithTimeout(kPartitionPatience), Namespace::kStorage,
                                     cim::Query("MSFT_Partition"));
  for (const cim::Object& partition : partitions.value_or(std::vector<cim::Object>())) {
    const auto number = partition.GetUint32("DiskNumber");
    if (number.ok()) kinds[*number].insert(KindOf(partition));
  }
  for (DiskDescription& disk : *disks) {
    if (!disk.is_online || disk.has_windows()) continue;
    const uint32_t number = disk.disk_number;
    if (disk.style != PartitionStyle::kRaw) {
      const std::set<PartitionKind>& found = kinds[number];
      const bool is_windows =
          found.contains(PartitionKind::kData) || found.contains(PartitionKind::kDynamic);
      if (!partitions.ok()) {
        disk.content = absl::StrCat("not known: ", partitions.status().message());
      } else if (!is_windows && found.contains(PartitionKind::kOther)) {
        disk.content = "only partitions of another system";
      }
      continue;
    }
    const auto content = deps_.reads->Read<std::string>(
        context.WithTimeout(kReadPatience), DiskName(number),
        [&os = os_, number](const CallContext& run) -> absl::StatusOr<std::string> {
          ABSL_ASSIGN_OR_RETURN(const uint64_t size, GetDiskLength(os, number));
          ABSL_ASSIGN_OR_RETURN(const bool blank,
                                host::IsBlank(os, run, number, 0, size, Look::kAtEnds));
          return blank ? "" : host::DescribeData(os, number, 0);
        });
    disk.content =
        content.ok() ? *content : absl::StrCat("not known: ", content.status().message());
  }
}

absl::Status DiskHost::Rescan(const CallContext& context) { return storage_.UpdateCache(context); }

absl::StatusOr<DiskLayout> DiskHost::GetLayout(const CallContext& context, uint32_t disk_number) {
  ABSL_ASSIGN_OR_RETURN(const cim::Object disk, FindDisk(context, disk_number));
  ABSL_RETURN_IF_ERROR(CheckLocal(os_, disk_number, disk));
  const auto offline = disk.GetBoolean("IsOffline");
  const auto style = StyleOf(disk);
  if (!offline.ok()) return offline.status();
  if (!style.ok()) return style.status();
  DiskLayout layout;
  layout.is_online = !*offline;
  layout.is_read_only = disk.GetBoolean("IsReadOnly").value_or(false);
  layout.style = *style;
  layout.is_boot = IsOrMayBe(disk, "IsBoot");
  layout.is_system = IsOrMayBe(disk, "IsSystem");
  layout.offline_reason = DescribeDisk(disk_number, disk).offline_reason;
  layout.object = disk.path();
  ABSL_ASSIGN_OR_RETURN(const auto partitions, ListMsftPartitions(wmi_, context, disk_number));
  // A broken provider may report no partitions, and the caller would then add one.
  if (partitions.empty() &&
      !GetDriveLayout(os_, disk_number).value_or(std::vector<machine::PartitionEntry>()).empty()) {
    return NotShown(
        absl::StrCat("WMI shows no partition of disk ", disk_number, ", which has partitions"));
  }
  for (const cim::Object& partition : partitions) {
    ABSL_ASSIGN_OR_RETURN(const auto basic, IsBasic(partition));
    layout.partitions.push_back(
        {partition.GetUint32("PartitionNumber").value_or(0), basic, KindOf(partition)});
  }
  return layout;
}

absl::Status DiskHost::InitializeGpt(const CallContext& context, uint32_t disk_number,
                                     const DiskLayout* layout) {
  ABSL_ASSIGN_OR_RETURN(const DiskLayout known, LayoutOr(layout, context, disk_number));
  return storage_.Call(context, absl::StrCat("initialising disk ", disk_number), known.object,
                       "Initialize", {{"PartitionStyle", Value::Uint16(kStyleGpt)}});
}

absl::Status DiskHost::CreateBasicPartition(const CallContext& context, uint32_t disk_number,
                                            const DiskLayout* layout) {
  ABSL_ASSIGN_OR_RETURN(const DiskLayout known, LayoutOr(layout, context, disk_number));
  const std::string operation = absl::StrCat("creating a partition on disk ", disk_number);
  // Windows refuses a GPT type for an MBR disk and an MBR type for a GPT disk. The GPT type is
  // the one that the Go release passes (upstream's pkg/os/disk/api.go, CreateBasicPartition).
  cim::Arguments arguments = {{"UseMaximumSize", Value::Boolean(true)},
                              {"AssignDriveLetter", Value::Boolean(false)}};
  if (known.style == PartitionStyle::kMbr) {
    arguments["MbrType"] = Value::Uint16(kMbrIfs);
  } else {
    arguments["GptType"] = Value::String(kBasicData);
    arguments["IsHidden"] = Value::Boolean(false);
    arguments["IsActive"] = Value::Boolean(false);
  }
  const auto result = storage_.Invoke(context, known.object, "CreatePartition", arguments);
  if (!result.ok()) return Prefixed(operation, result.status());
  // The partition exists and only lacks a drive letter, which was not requested.
  if (result->return_value == cim::kAccessPathInUse) {
    RecordFallback(Fallback::kPartitionWithoutLetter);
    return absl::OkStatus();
  }
  const absl::Status status = cim::StorageStatus(operation, *result);
  if (result->return_value == cim::kNoCapacity) {
    return absl::FailedPreconditionError(status.message());
  }
  return status;
}

absl::Status DiskHost::BringPartitionsOnline(const CallContext& context, uint32_t disk_number) {
  const std::string operation =
      absl::StrCat("bringing the partitions of disk ", disk_number, " online");
  ABSL_ASSIGN_OR_RETURN(const auto partitions, ListMsftPartitions(wmi_, context, disk_number));
  for (const cim::Object& partition : partitions) {
    ABSL_ASSIGN_OR_RETURN(const auto basic, IsBasic(partition));
    if (!basic) continue;
    ABSL_RETURN_IF_ERROR(storage_.Call(context, operation, partition.path(), "Online"));
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> DiskHost::GetSize(const CallContext& context, uint32_t disk_number) {
  ABSL_RETURN_IF_ERROR(context.Check());
  return GetDiskLength(os_, disk_number);
}

absl::StatusOr<bool> DiskHost::IsBlank(const CallContext& context, uint32_t disk_number,
                                       uint64_t offset_bytes, uint64_t size_bytes) {
  return host::IsBlank(os_, context, disk_number, offset_bytes, size_bytes, Look::kThroughout);
}

std::string DiskHost::DescribeData(const CallContext& context, uint32_t disk_number) {
  const YieldSlot yielded(context);
  return host::DescribeData(os_, disk_number, 0);
}

absl::StatusOr<bool> DiskHost::IsOnline(const CallContext& context, uint32_t disk_number) {
  ABSL_RETURN_IF_ERROR(context.Check());
  ABSL_ASSIGN_OR_RETURN(const machine::DiskAttributes attributes,
                        GetDiskAttributes(os_, disk_number));
  return !attributes.is_offline;
}

absl::Status DiskHost::AwaitChanges(const CallContext& context, uint32_t disk_number) {
  ABSL_RETURN_IF_ERROR(context.Check());
  return deps_.changes->Await(context, DiskName(disk_number));
}

absl::StatusOr<StateChange> DiskHost::SetOnline(const CallContext& context, uint32_t disk_number,
                                                bool online) {
  // An Online that was left would undo this Offline. An Offline that was left does no harm.
  ABSL_RETURN_IF_ERROR(context.Check());
  ABSL_RETURN_IF_ERROR(deps_.changes->Await(
      context, online ? DiskName(disk_number) : ComingOnlineName(disk_number)));
  ABSL_ASSIGN_OR_RETURN(const machine::DiskAttributes before, GetDiskAttributes(os_, disk_number));
  StateChange change{.changed = before.is_offline == online};
  // A disk that was attached elsewhere comes read-only. The flag is cleared here, before its
  // volumes can be mounted; if that fails, it is cleared again below.
  const bool cleared =
      online && change.changed && before.is_read_only && ClearReadOnly(os_, disk_number).ok();
  if (change.changed) {
    ABSL_RETURN_IF_ERROR(InvokeState(context, disk_number, online));
  }
  if (!online) return change;
  // Windows may set the flag when the disk comes online, or another program brought it online.
  ABSL_ASSIGN_OR_RETURN(const machine::DiskAttributes now, GetDiskAttributes(os_, disk_number));
  change.was_online_read_only = now.is_read_only;
  if (!now.is_read_only) return change;
  if (change.changed && (cleared || !before.is_read_only)) {
    RecordFallback(Fallback::kReadOnlyAfterOnline);
  }
  ABSL_RETURN_IF_ERROR(ClearReadOnly(os_, disk_number));
  return change;
}

absl::Status DiskHost::SetReadOnly(const CallContext& context, uint32_t disk_number,
                                   bool read_only) {
  ABSL_RETURN_IF_ERROR(context.Check());
  // Asks the device, because the provider's cache may be old.
  ABSL_ASSIGN_OR_RETURN(const machine::DiskAttributes now, GetDiskAttributes(os_, disk_number));
  if (now.is_read_only == read_only) return absl::OkStatus();
  // Clears the flag on the device, which works for an offline or raw disk too.
  if (!read_only) return ClearReadOnly(os_, disk_number);
  ABSL_ASSIGN_OR_RETURN(const cim::Object disk, FindDisk(context, disk_number));
  const std::string operation = absl::StrCat("making disk ", disk_number, " read-only");
  if (absl::Status s = CheckNotWindows(disk_number, disk); !s.ok()) {
    return Prefixed(operation, s);
  }
  // Pending writes would fail once the disk is read-only.
  if (absl::Status status = FlushVolumes(deps_, context, disk_number); !status.ok()) {
    return Prefixed(operation, status);
  }
  ABSL_RETURN_IF_ERROR(storage_.Call(context, operation, disk.path(), "SetAttributes",
                                     {{"IsReadOnly", Value::Boolean(true)}}));
  // A mounted file system would continue to write. Windows mounts it again, read-only
  // (learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_dismount_volume).
  return Prefixed(operation, DismountVolumes(os_, context, disk_number));
}

absl::StatusOr<size_t> DiskHost::CountPromisedVolumes(const CallContext& context,
                                                      uint32_t disk_number) {
  ABSL_RETURN_IF_ERROR(context.Check());
  const absl::StatusOr<size_t> count = host::CountPromisedVolumes(os_, disk_number);
  // Returns 0 for a disk whose layout cannot be read.
  if (count.ok() || absl::IsNotFound(count.status())) return count;
  RecordRefusal(Fallback::kLayoutNotRead, count.status(), {win32_error::kAccessDenied});
  return size_t{0};
}

absl::StatusOr<uint32_t> DiskHost::NumberOf(const cim::Object& disk) {
  const absl::StatusOr<uint32_t> number = disk.GetUint32("Number");
  if (number.ok()) return number;
  RecordFallback(Fallback::kDiskWithoutNumber, number.status().message());
  const MutexLock lock(mutex_);
  if (warned_.size() < kMaxWarnings && warned_.insert(disk.path()).second) {
    warn_(absl::StrCat("a disk without a number is left out of all listings: ", disk.path()));
  }
  return number;
}

absl::Status DiskHost::ForEachDisk(const CallContext& context,
                                   absl::FunctionRef<void(uint32_t, const cim::Object&)> visit) {
  const auto disks = wmi_.Query(context, Namespace::kStorage, cim::Query("MSFT_Disk"));
  if (!disks.ok()) return Prefixed("listing disks", disks.status());
  // Every node has at least the disk that Windows runs on.
  if (disks->empty()) return NotShown("WMI shows no disk");
  for (const cim::Object& disk : *disks) {
    ABSL_RETURN_IF_ERROR(context.Check());
    const absl::StatusOr<uint32_t> number = NumberOf(disk);
    if (number.ok()) visit(*number, disk);
  }
  return absl::OkStatus();
}

absl::Status DiskHost::InvokeState(const CallContext& context, uint32_t disk_number, bool online) {
  ABSL_ASSIGN_OR_RETURN(const cim::Object disk, FindDisk(context, disk_number));
  const std::string operation = absl::StrCat(online ? "bringing disk " : "taking disk ",
                                             disk_number, online ? " online" : " offline");
  const absl::Status own = online ? absl::OkStatus() : CheckNotWindows(disk_number, disk);
  if (!own.ok()) return Prefixed(operation, own);
  if (!online) {
    ABSL_RETURN_IF_ERROR(CheckLocal(os_, disk_number, disk));
  }
  std::vector<std::string> objects = {DiskName(disk_number)};
  if (online) objects.push_back(ComingOnlineName(disk_number));
  const absl::Status changed = deps_.changes->Run(
      context, std::move(objects),
      [&storage = storage_, path = disk.path(), online, operation](const CallContext& run) {
        return storage.Call(run, operation, path, online ? "Online" : "Offline");
      });
  // Counts the refusal, because the caller may ignore it.
  if (!online && absl::IsFailedPrecondition(changed)) {
    RecordFallback(Fallback::kDiskStaysOnline, changed.message());
  }
  return changed;
}

absl::StatusOr<cim::Object> DiskHost::FindDisk(const CallContext& context, uint32_t disk_number,
                                               bool is_fresh) {
  ABSL_ASSIGN_OR_RETURN(auto disk, FindMsftDisk(wmi_, context, disk_number));
  if (disk.has_value()) return *std::move(disk);
  // The provider may not show an existing disk yet, a snapshot's copy for example
  // (github.com/kubernetes-csi/csi-proxy/issues/287).
  if (is_fresh) {
    return NotShown(absl::StrCat("disk ", disk_number, " exists, but WMI does not show it"));
  }
  ABSL_RETURN_IF_ERROR(CheckDisk(os_, disk_number));
  RecordFallback(Fallback::kDiskUnknownToWmi);
  const absl::Status updated = storage_.UpdateCache(context);
  ABSL_RETURN_IF_ERROR(context.Check());
  if (!updated.ok()) {
    return NotShown(absl::StrCat("WMI does not show disk ", disk_number, ": ", updated.message()));
  }
  return FindDisk(context, disk_number, /*is_fresh=*/true);
}

absl::StatusOr<DiskLayout> DiskHost::LayoutOr(const DiskLayout* layout, const CallContext& context,
                                              uint32_t disk_number) {
  if (layout != nullptr) return *layout;
  ABSL_ASSIGN_OR_RETURN(const cim::Object disk, FindDisk(context, disk_number));
  DiskLayout known;
  known.object = disk.path();
  ABSL_ASSIGN_OR_RETURN(known.style, StyleOf(disk));
  return known;
}

}  // namespace csi_proxy::host
