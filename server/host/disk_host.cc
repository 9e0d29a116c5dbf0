// Lists and changes disks through WMI. Reads details and clears flags on the devices themselves.
#include "server/host/disk_host.h"

#include <algorithm>
#include <optional>
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
// How long ReadContents() and HasOnePartition() wait for a disk.
constexpr absl::Duration kReadPatience = absl::Milliseconds(300);
// How long ReadContents() waits for WMI.
constexpr absl::Duration kPartitionPatience = absl::Seconds(1);
// Limits the log on a node where disks often arrive and leave.
constexpr size_t kMaxWarnings = 100;

// Returns DetachedRuns' name of the change that brings a disk online.
std::string ComingOnlineName(uint32_t disk_number) {
  return absl::StrCat(DiskName(disk_number), " coming online");
}

absl::Status NotShown(absl::string_view what) {
  return absl::UnavailableError(
      absl::StrCat(what, "; restart the node's service smphost (enable it if disabled)"));
}

// Runs `step` for each volume of a disk. Returns the first error.
template <typename Step>
absl::Status ForEachVolume(const HostDeps& deps, const CallContext& context,
                           const DiskDescription& disk, NodeVolumes* seen, Step step) {
  ABSL_ASSIGN_OR_RETURN(const auto volumes, VolumesOn(deps, context, disk.number, seen));
  for (const VolumeView& volume : volumes) {
    ABSL_RETURN_IF_ERROR(context.Check());
    ABSL_RETURN_IF_ERROR(step(volume.id.ToString()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<DiskDescription>> DiskHost::ListDisks(const CallContext& context,
                                                                 AskDisks ask) {
  const YieldSlot yielded(context);
  return listings_[static_cast<size_t>(ask)].Get(
      context, [this, ask](const CallContext& run) -> absl::StatusOr<std::vector<DiskDescription>> {
        const auto found = wmi_.Query(run, Namespace::kStorage, cim::Query("MSFT_Disk"));
        if (!found.ok()) return Prefixed("listing disks", found.status());
        // Every node has at least Windows' own disk.
        if (found->empty()) return NotShown("WMI shows no disk");
        std::vector<DiskDescription> disks;
        for (const cim::Object& disk : *found) {
          ABSL_RETURN_IF_ERROR(run.Check());
          const absl::StatusOr<uint32_t> number = NumberOf(disk);
          if (number.ok()) disks.push_back(Describe(*number, disk, ask));
        }
        std::ranges::sort(disks, {}, &DiskDescription::number);
        return disks;
      });
}

absl::StatusOr<DiskDescription> DiskHost::Describe(const CallContext& context, uint32_t disk_number,
                                                   AskDisks ask) {
  ABSL_ASSIGN_OR_RETURN(const cim::Object object, FindDisk(context, disk_number));
  DiskDescription disk = Describe(disk_number, object, ask);
  AddReadOnly(os_, &disk);
  return disk;
}

DiskDescription DiskHost::Describe(uint32_t disk_number, const cim::Object& disk, AskDisks ask) {
  DiskDescription description = DescribeDisk(disk_number, disk);
  const bool is_all = ask == AskDisks::kAll;
  if (is_all || ask == AskDisks::kIds) AddIds(os_, disk, &description);
  if (is_all) AddReadOnly(os_, &description);
  if (is_all || ask == AskDisks::kLocation) AddAzureLun(os_, disk, &description);
  return description;
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
    const uint32_t number = disk.number;
    if (disk.partition_style != PartitionStyle::kRaw) {
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
        [this, number](const CallContext& run) -> absl::StatusOr<std::string> {
          ABSL_ASSIGN_OR_RETURN(const uint64_t size, GetSize(run, number));
          return host::FindData(os_, run, number, 0, size, Look::kAtEnds);
        });
    disk.content =
        content.ok() ? *content : absl::StrCat("not known: ", content.status().message());
  }
}

absl::Status DiskHost::Rescan(const CallContext& context) { return storage_.UpdateCache(context); }

absl::StatusOr<DiskDescription> DiskHost::GetLayout(const CallContext& context,
                                                    uint32_t disk_number) {
  ABSL_ASSIGN_OR_RETURN(const cim::Object object, FindDisk(context, disk_number));
  DiskDescription disk = DescribeDisk(disk_number, object);
  ABSL_RETURN_IF_ERROR(CheckLocal(os_, disk));
  // Callers rely on these two properties before they write to the disk.
  ABSL_RETURN_IF_ERROR(object.GetBoolean("IsOffline").status());
  ABSL_RETURN_IF_ERROR(object.GetUint32Or("PartitionStyle", 0).status());
  AddReadOnly(os_, &disk);
  const auto entries = GetDriveLayout(os_, disk_number);
  // The disk itself reports that it has no partition.
  const bool is_bare = entries.ok() && entries->empty();
  if (disk.partition_style == PartitionStyle::kRaw && is_bare) return disk;
  ABSL_ASSIGN_OR_RETURN(const auto partitions, ListMsftPartitions(wmi_, context, disk_number));
  // A broken provider may report that a disk lacks partitions, and then the caller would add one.
  if (partitions.empty() && entries.ok() && !is_bare) {
    return NotShown(
        absl::StrCat("WMI shows no partition of disk ", disk_number, ", which has partitions"));
  }
  for (const cim::Object& partition : partitions) {
    ABSL_ASSIGN_OR_RETURN(const auto basic, IsBasic(partition));
    disk.partitions.push_back(
        {partition.GetUint32("PartitionNumber").value_or(0), basic, KindOf(partition)});
  }
  return disk;
}

absl::Status DiskHost::CheckStill(const DiskDescription& disk) { return CheckLocal(os_, disk); }

absl::Status DiskHost::CheckStill(const CallContext& context, const DiskDescription& disk) {
  ABSL_ASSIGN_OR_RETURN(const DiskDescription now, DescribeFromWmi(context, disk.number));
  ABSL_RETURN_IF_ERROR(CheckSame(disk, now));
  return CheckLocal(os_, disk);
}

absl::Status DiskHost::InitializeGpt(const CallContext& context, const DiskDescription& disk) {
  // The caller may have read another disk's bytes by this number.
  ABSL_RETURN_IF_ERROR(CheckLocal(os_, disk));
  return storage_.Call(context, absl::StrCat("initialising disk ", disk.number), disk.object,
                       "Initialize", {{"PartitionStyle", Value::Uint16(kStyleGpt)}});
}

absl::Status DiskHost::CreateBasicPartition(const CallContext& context,
                                            const DiskDescription& disk) {
  ABSL_RETURN_IF_ERROR(CheckLocal(os_, disk));
  const std::string operation = absl::StrCat("creating a partition on disk ", disk.number);
  // Windows refuses a GPT type for an MBR disk and an MBR type for a GPT disk. The GPT type is
  // the one that the Go release passes (upstream's pkg/os/disk/api.go, CreateBasicPartition).
  cim::Arguments arguments = {{"UseMaximumSize", Value::Boolean(true)},
                              {"AssignDriveLetter", Value::Boolean(false)}};
  if (disk.partition_style == PartitionStyle::kMbr) {
    arguments["MbrType"] = Value::Uint16(kMbrIfs);
  } else {
    arguments["GptType"] = Value::String(kBasicData);
    arguments["IsHidden"] = Value::Boolean(false);
    arguments["IsActive"] = Value::Boolean(false);
  }
  const auto result = storage_.Invoke(context, disk.object, "CreatePartition", arguments);
  if (!result.ok()) return Prefixed(operation, result.status());
  // The partition exists and only lacks a drive letter, which was not requested.
  if (result->return_value == cim::kAccessPathInUse) {
    RecordFallback(Fallback::kPartitionWithoutLetter);
    return absl::OkStatus();
  }
  const absl::Status status = cim::StorageStatus(operation, *result);
  return result->return_value == cim::kNoCapacity ? absl::FailedPreconditionError(status.message())
                                                  : status;
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

absl::StatusOr<std::string> DiskHost::FindData(const CallContext& context,
                                               const DiskDescription& disk) {
  const std::string before = disk.page83.empty() ? Page83Of(os_, disk) : disk.page83;
  ABSL_ASSIGN_OR_RETURN(const uint64_t size, GetSize(context, disk.number));
  auto data = host::FindData(os_, context, disk.number, 0, size, Look::kThroughout);
  // A cloud may have attached another disk at the same place, with the same number and path.
  const std::string now = Page83Of(os_, disk);
  const bool is_other = now != before && !now.empty() && !before.empty();
  return is_other ? AnotherDisk(disk.number) : data;
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
                                                bool online, const DiskDescription* disk) {
  // A call that takes the disk offline waits only for earlier Online calls, which could undo the
  // change. A call that brings the disk online waits for all earlier changes of the disk.
  ABSL_RETURN_IF_ERROR(context.Check());
  ABSL_RETURN_IF_ERROR(deps_.changes->Await(
      context, online ? DiskName(disk_number) : ComingOnlineName(disk_number)));
  ABSL_ASSIGN_OR_RETURN(const machine::DiskAttributes before, GetDiskAttributes(os_, disk_number));
  if (online && before.is_read_only && disk != nullptr) {
    ABSL_RETURN_IF_ERROR(CheckLocal(os_, *disk));
  }
  StateChange change{.changed = before.is_offline == online};
  // A disk that was attached elsewhere arrives read-only. Clears the flag here, before Windows can
  // mount the disk's volumes. If this attempt fails, tries again below.
  const bool cleared =
      online && change.changed && before.is_read_only && ClearReadOnly(os_, disk_number).ok();
  if (change.changed) {
    if (disk == nullptr) {
      ABSL_ASSIGN_OR_RETURN(change.found, DescribeFromWmi(context, disk_number));
      disk = &*change.found;
    }
    ABSL_RETURN_IF_ERROR(InvokeState(context, *disk, online));
  }
  if (!online) return change;
  // Another disk may have got the number since.
  if (change.changed) {
    ABSL_RETURN_IF_ERROR(CheckLocal(os_, *disk));
  }
  // Windows may set the flag when this call, or another program, brings the disk online.
  ABSL_ASSIGN_OR_RETURN(const machine::DiskAttributes now, GetDiskAttributes(os_, disk_number));
  change.was_online_read_only = now.is_read_only;
  if (!now.is_read_only) return change;
  if (change.changed && (cleared || !before.is_read_only)) {
    RecordFallback(Fallback::kReadOnlyAfterOnline);
  }
  ABSL_RETURN_IF_ERROR(ClearReadOnly(os_, disk_number));
  return change;
}

absl::Status DiskHost::SetReadOnly(const CallContext& context, uint32_t disk_number, bool read_only,
                                   NodeVolumes* seen, const DiskDescription* disk) {
  ABSL_RETURN_IF_ERROR(AwaitChanges(context, disk_number));
  // Queries the device, because the provider's cache may be old.
  ABSL_ASSIGN_OR_RETURN(const machine::DiskAttributes now, GetDiskAttributes(os_, disk_number));
  if (now.is_read_only == read_only) return absl::OkStatus();
  // Clears the flag on the device, because this also works for an offline or raw disk.
  if (!read_only) return ClearReadOnly(os_, disk_number);
  const std::string operation = absl::StrCat("making disk ", disk_number, " read-only");
  auto looked_up = disk == nullptr ? DescribeFromWmi(context, disk_number) : *disk;
  ABSL_ASSIGN_OR_RETURN(const DiskDescription found, std::move(looked_up));
  ABSL_RETURN_IF_ERROR(Prefixed(operation, CheckNotWindows(found)));
  NodeVolumes nothing;
  if (seen == nullptr) seen = &nothing;
  // Flushes, because pending writes would fail on a read-only disk.
  const absl::Status flushed = ForEachVolume(deps_, context, found, seen, [&](const auto& volume) {
    const absl::Status status = Flush(deps_, context, volume);
    // A write-protected volume has no pending writes.
    return HasWin32Code(status, win32_error::kWriteProtect)
               ? absl::OkStatus()
               : Prefixed(absl::StrCat("flushing volume ", volume), status);
  });
  ABSL_RETURN_IF_ERROR(Prefixed(operation, flushed));
  ABSL_RETURN_IF_ERROR(CheckLocal(os_, found));
  const auto set = [deps = deps_, found, operation,
                    volumes = *seen](const CallContext& run) mutable {
    ABSL_RETURN_IF_ERROR(deps.storage->Call(run, operation, found.object, "SetAttributes",
                                            {{"IsReadOnly", Value::Boolean(true)}}));
    ABSL_RETURN_IF_ERROR(CheckLocal(*deps.os, found));
    // A mounted file system would continue to write. Windows mounts it again, read-only
    // (learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_dismount_volume). Lists the
    // volumes again, because one may have arrived before the flag was set.
    return Prefixed(operation, ForEachVolume(deps, run, found, &volumes, [&](const auto& volume) {
                      const absl::Status dismounted = Dismount(*deps.os, volume);
                      // The volume has disappeared.
                      return HasWin32Code(dismounted, win32_error::kFileNotFound) ? absl::OkStatus()
                                                                                  : dismounted;
                    }));
  };
  return deps_.changes->Run(context, {DiskName(disk_number)}, set);
}

bool DiskHost::HasOnePartition(const CallContext& context, uint32_t disk_number) {
  using Entries = std::vector<machine::PartitionEntry>;
  const auto entries = deps_.reads->Read<Entries>(
      context.WithTimeout(kReadPatience), DiskName(disk_number),
      [this, disk_number](const CallContext&) { return GetDriveLayout(os_, disk_number); });
  return entries.ok() && std::ranges::none_of(*entries, &machine::PartitionEntry::is_dynamic) &&
         std::ranges::count(*entries, false, &machine::PartitionEntry::is_reserved) == 1;
}

absl::StatusOr<size_t> DiskHost::CountPromisedVolumes(const CallContext& context,
                                                      uint32_t disk_number) {
  ABSL_RETURN_IF_ERROR(context.Check());
  const auto partitions = GetDriveLayout(os_, disk_number);
  if (partitions.ok()) {
    return std::ranges::count_if(*partitions, &machine::PartitionEntry::holds_volume);
  }
  if (absl::IsNotFound(partitions.status())) return partitions.status();
  // Returns 0 for a disk with an unreadable layout.
  RecordRefusal(Fallback::kLayoutNotRead, partitions.status(), {win32_error::kAccessDenied});
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

absl::Status DiskHost::InvokeState(const CallContext& context, const DiskDescription& disk,
                                   bool online) {
  const std::string operation = absl::StrCat(online ? "bringing disk " : "taking disk ",
                                             disk.number, online ? " online" : " offline");
  if (!online) {
    ABSL_RETURN_IF_ERROR(Prefixed(operation, CheckNotWindows(disk)));
    ABSL_RETURN_IF_ERROR(CheckLocal(os_, disk));
  }
  std::vector<std::string> objects = {DiskName(disk.number)};
  if (online) objects.push_back(ComingOnlineName(disk.number));
  const absl::Status changed = deps_.changes->Run(
      context, std::move(objects),
      [&storage = storage_, path = disk.object, online, operation](const CallContext& run) {
        return storage.Call(run, operation, path, online ? "Online" : "Offline");
      });
  // Counts the refusal, because the caller may ignore it.
  if (!online && absl::IsFailedPrecondition(changed)) {
    RecordFallback(Fallback::kDiskStaysOnline, changed.message());
  }
  return changed;
}

absl::StatusOr<DiskDescription> DiskHost::DescribeFromWmi(const CallContext& context,
                                                          uint32_t disk_number) {
  ABSL_ASSIGN_OR_RETURN(const cim::Object object, FindDisk(context, disk_number));
  return DescribeDisk(disk_number, object);
}

absl::StatusOr<cim::Object> DiskHost::FindDisk(const CallContext& context, uint32_t disk_number,
                                               bool is_fresh) {
  ABSL_ASSIGN_OR_RETURN(auto disk, FindMsftDisk(wmi_, context, disk_number));
  if (disk.has_value()) return *std::move(disk);
  // The provider may not show a new disk yet, for example a snapshot's copy
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

}  // namespace csi_proxy::host
