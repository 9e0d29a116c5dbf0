#include "server/host/devices.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "csi_proxy/steady_time.h"
#include "server/base/fallbacks.h"
#include "server/base/status_macros.h"
#include "server/names/win32_error.h"

namespace csi_proxy::host {
namespace {

// The space for an answer of fixed size, in bytes. No such answer is larger.
constexpr size_t kSmallAnswer = 64;

absl::StatusOr<machine::Bytes> AskDisk(machine::Os& os, uint32_t disk_number,
                                       machine::DeviceAccess access, uint32_t code,
                                       const machine::Bytes& input, absl::string_view what,
                                       size_t max_answer = kSmallAnswer) {
  absl::StatusOr<machine::Bytes> answer = os.Control(
      absl::StrCat("\\\\.\\PhysicalDrive", disk_number), access, code, input, max_answer);
  if (HasWin32Code(answer.status(), win32_error::kFileNotFound)) return NoDisk(disk_number);
  if (!answer.ok()) {
    return Prefixed(absl::StrCat(what, " of disk ", disk_number), answer.status());
  }
  return answer;
}

// Returns the name of the volume's device. With a trailing backslash the name would be the root
// directory's (learn.microsoft.com/windows/win32/fileio/naming-a-volume).
std::string Device(const std::string& volume) {
  return std::string(absl::StripSuffix(volume, "\\"));
}

}  // namespace

absl::Status CheckDevice(machine::Os& os, uint32_t disk_number, const std::string& path) {
  if (path.empty()) return absl::InternalError("WMI reports no device path");
  ABSL_ASSIGN_OR_RETURN(const machine::Bytes number,
                        os.Control(path, machine::DeviceAccess::kNone,
                                   machine::control::kGetDeviceNumber, {}, kSmallAnswer));
  ABSL_ASSIGN_OR_RETURN(const machine::DeviceNumber device, machine::ParseDeviceNumber(number));
  if (device.device_number != disk_number) {
    return absl::UnavailableError(
        absl::StrCat("its device path now belongs to disk ", device.device_number));
  }
  return absl::OkStatus();
}

absl::Status NoDisk(uint32_t disk_number) {
  return absl::NotFoundError(absl::StrCat("there is no disk ", disk_number));
}

absl::StatusOr<uint64_t> GetDiskLength(machine::Os& os, uint32_t disk_number) {
  ABSL_ASSIGN_OR_RETURN(const machine::Bytes answer,
                        AskDisk(os, disk_number, machine::DeviceAccess::kRead,
                                machine::control::kGetLength, {}, "asking for the size"));
  return machine::ParseLength(answer);
}

absl::StatusOr<machine::DiskAttributes> GetDiskAttributes(machine::Os& os, uint32_t disk_number) {
  ABSL_ASSIGN_OR_RETURN(
      const machine::Bytes answer,
      AskDisk(os, disk_number, machine::DeviceAccess::kNone, machine::control::kGetDiskAttributes,
              {}, "asking for the attributes"));
  return machine::ParseDiskAttributes(answer);
}

void RecordRefusal(Fallback fallback, const absl::Status& refused,
                   std::initializer_list<uint32_t> reasons) {
  RecordFallback(HasWin32Code(refused, reasons) ? fallback : Fallback::kDiskDoesNotAnswer,
                 refused.message());
}

bool IsDeviceFailure(const absl::Status& status) {
  return HasWin32Code(status, {win32_error::kFileNotFound, win32_error::kPathNotFound,
                               win32_error::kNotReady, win32_error::kGeneralFailure,
                               win32_error::kDeviceNotExist, win32_error::kNoSuchDevice,
                               win32_error::kIoDevice, win32_error::kDeviceNotConnected});
}

absl::Status ClearReadOnly(machine::Os& os, uint32_t disk_number) {
  return AskDisk(os, disk_number, machine::DeviceAccess::kReadWrite,
                 machine::control::kSetDiskAttributes, machine::ClearReadOnlyRequest(),
                 "clearing the read-only flag")
      .status();
}

void UpdateDiskLength(machine::Os& os, uint32_t disk_number) {
  // learn.microsoft.com/windows-hardware/drivers/ddi/ntdddisk/ni-ntdddisk-ioctl_disk_update_drive_size
  const absl::Status updated = AskDisk(os, disk_number, machine::DeviceAccess::kReadWrite,
                                       machine::control::kUpdateDriveSize, {}, "updating the size")
                                   .status();
  if (!updated.ok()) RecordRefusal(Fallback::kSizeNotUpdated, updated, kUnknownRequest);
}

absl::StatusOr<std::vector<machine::PartitionEntry>> GetDriveLayout(machine::Os& os,
                                                                    uint32_t disk_number) {
  ABSL_ASSIGN_OR_RETURN(
      const machine::Bytes answer,
      AskDisk(os, disk_number, machine::DeviceAccess::kRead, machine::control::kGetDriveLayout, {},
              "asking for the partitions", machine::kMaxDriveLayout));
  return machine::ParseDriveLayout(answer);
}

absl::Status CheckNotDynamic(machine::Os& os, const std::string& volume, uint32_t disk_number) {
  const auto partitions = GetDriveLayout(os, disk_number);
  if (!partitions.ok() ||
      std::none_of(partitions->begin(), partitions->end(),
                   [](const machine::PartitionEntry& entry) { return entry.is_dynamic; })) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("volume ", volume, " lies on disk ", disk_number,
                   ", a dynamic disk, whose volumes WMI does not manage: use a basic disk"));
}

absl::StatusOr<machine::DeviceIds> AskForDeviceIds(machine::Os& os, uint32_t disk_number,
                                                   const std::string& path) {
  ABSL_RETURN_IF_ERROR(CheckDevice(os, disk_number, path));
  ABSL_ASSIGN_OR_RETURN(
      const machine::Bytes ids,
      os.Control(path, machine::DeviceAccess::kNone, machine::control::kQueryProperty,
                 machine::DeviceIdQuery(), machine::kMaxDeviceIds));
  return machine::ParseDeviceIds(ids);
}

absl::StatusOr<uint32_t> AskForScsiLun(machine::Os& os, uint32_t disk_number,
                                       const std::string& path) {
  ABSL_RETURN_IF_ERROR(CheckDevice(os, disk_number, path));
  ABSL_ASSIGN_OR_RETURN(const machine::Bytes answer,
                        os.Control(path, machine::DeviceAccess::kNone,
                                   machine::control::kGetScsiAddress, {}, kSmallAnswer));
  ABSL_ASSIGN_OR_RETURN(const machine::ScsiAddress address, machine::ParseScsiAddress(answer));
  return address.lun;
}

absl::Status CheckDisk(machine::Os& os, uint32_t disk_number) {
  return AskDisk(os, disk_number, machine::DeviceAccess::kNone, machine::control::kGetDeviceNumber,
                 {}, "asking for the number")
      .status();
}

absl::StatusOr<std::vector<machine::DiskExtent>> GetVolumeExtents(machine::Os& os,
                                                                  const std::string& volume) {
  const absl::StatusOr<machine::Bytes> answer =
      os.Control(Device(volume), machine::DeviceAccess::kNone,
                 machine::control::kGetVolumeDiskExtents, {}, machine::kMaxExtents);
  if (!answer.ok()) {
    return Prefixed(absl::StrCat("asking volume ", volume, " for its disks"), answer.status());
  }
  return machine::ParseDiskExtents(*answer);
}

namespace {

// Returns the extents of each volume of the node. A volume whose extents cannot be read has none:
// it is disappearing, does not answer, or is not on a disk (a CD).
absl::StatusOr<NodeVolumes> LocateVolumes(machine::Os& os, const CallContext& context) {
  const absl::StatusOr<std::vector<std::string>> names = os.ListVolumes();
  if (!names.ok()) return Prefixed("listing volumes", names.status());
  NodeVolumes volumes;
  for (const std::string& name : *names) {
    ABSL_RETURN_IF_ERROR(context.Check());
    volumes.emplace(name, GetVolumeExtents(os, name).value_or(std::vector<machine::DiskExtent>()));
  }
  return volumes;
}

bool LiesOn(const std::vector<machine::DiskExtent>& extents, uint32_t disk_number) {
  return std::ranges::count(extents, disk_number, &machine::DiskExtent::disk_number) > 0;
}

// Returns true if the node has exactly the volumes of `seen`, and if the extents of the disk's
// volumes and of volumes without extents are unchanged. Returns false if `seen` is empty.
absl::StatusOr<bool> IsAsSeen(machine::Os& os, uint32_t disk_number, const NodeVolumes& seen) {
  if (seen.empty()) return false;
  const absl::StatusOr<std::vector<std::string>> names = os.ListVolumes();
  if (!names.ok()) return Prefixed("listing volumes", names.status());
  return names->size() == seen.size() && std::ranges::all_of(*names, [&](const std::string& name) {
           const auto volume = seen.find(name);
           if (volume == seen.end()) return false;
           const auto& extents = volume->second;
           if (!extents.empty() && !LiesOn(extents, disk_number)) return true;
           return GetVolumeExtents(os, name).value_or(std::vector<machine::DiskExtent>()) ==
                  extents;
         });
}

}  // namespace

absl::StatusOr<std::vector<VolumeView>> VolumesOn(const HostDeps& deps, const CallContext& context,
                                                  uint32_t disk_number, NodeVolumes* seen) {
  ABSL_RETURN_IF_ERROR(context.Check());
  NodeVolumes nothing;
  if (seen == nullptr) seen = &nothing;
  ABSL_ASSIGN_OR_RETURN(const bool is_as_seen, IsAsSeen(*deps.os, disk_number, *seen));
  if (!is_as_seen) {
    // Keeps the slot unless the call waits for another call's look-up, because its own look-up is
    // short.
    ABSL_ASSIGN_OR_RETURN(*seen, deps.volumes->Get(context, [os = deps.os](const CallContext& run) {
      return LocateVolumes(*os, run);
    }));
  }
  std::vector<VolumeView> volumes;
  for (const auto& [name, extents] : *seen) {
    if (!LiesOn(extents, disk_number)) continue;
    ABSL_ASSIGN_OR_RETURN(const VolumeId id, VolumeId::Parse(name));
    volumes.push_back({.id = id, .extents = extents});
  }
  std::ranges::stable_sort(volumes, {}, [](const VolumeView& v) { return v.extents[0].offset; });
  return volumes;
}

absl::StatusOr<uint32_t> GetPartitionNumber(machine::Os& os, const std::string& volume) {
  const absl::StatusOr<machine::Bytes> answer =
      os.Control(Device(volume), machine::DeviceAccess::kNone, machine::control::kGetDeviceNumber,
                 {}, kSmallAnswer);
  if (!answer.ok()) {
    return Prefixed(absl::StrCat("asking volume ", volume, " for its partition"), answer.status());
  }
  ABSL_ASSIGN_OR_RETURN(const machine::DeviceNumber number, machine::ParseDeviceNumber(*answer));
  return number.partition_number;
}

absl::StatusOr<bool> IsDirty(machine::Os& os, const std::string& volume) {
  // Opens the volume with read access, because a handle without access rights is for the device,
  // not for its file system.
  const absl::StatusOr<machine::Bytes> answer =
      os.Control(Device(volume), machine::DeviceAccess::kRead, machine::control::kIsVolumeDirty, {},
                 kSmallAnswer);
  // NTFS returns this error if even the dirty mark is unreadable
  // (learn.microsoft.com/windows-hardware/drivers/ifs/fsctl-is-volume-dirty).
  if (HasWin32Code(answer.status(), win32_error::kFileCorrupt)) return true;
  if (HasWin32Code(answer.status(), {win32_error::kInvalidFunction, win32_error::kNotSupported})) {
    return false;
  }
  if (!answer.ok()) return answer.status();
  return machine::ParseIsDirty(*answer);
}

namespace {

// Remembers a volume as used if the mount manager knows a mount of it at a folder. The mount
// manager does not know a junction that a pod makes to the volume (doubt 83 of doubts.md).
void RememberUse(machine::Os& os, UsedVolumes& used, const std::string& volume) {
  const absl::StatusOr<VolumeId> id = VolumeId::Parse(volume);
  const absl::StatusOr<std::vector<std::string>> paths = os.ListMountPoints(volume);
  if (!id.ok() || !paths.ok()) return;
  const auto is_folder = [](const std::string& path) { return path.size() > sizeof("C:\\") - 1; };
  if (std::ranges::any_of(*paths, is_folder)) used.Add(*id);
}

}  // namespace

absl::Status Flush(const HostDeps& deps, const CallContext& context, const std::string& volume) {
  const std::string name = absl::StrCat("the cache of volume ", volume);
  // Waits for an abandoned flush first, so that hung flushes do not take a thread each.
  ABSL_RETURN_IF_ERROR(deps.flushes->Await(context, name, DetachedRuns::Whose::kLeft));
  return deps.flushes->Run(context, {name},
                           [os = deps.os, used = deps.used, volume](const CallContext&) {
                             RememberUse(*os, *used, volume);
                             return os->Flush(volume);
                           });
}

absl::Status ExtendVolume(machine::Os& os, const std::string& volume, uint64_t sectors) {
  return os
      .Control(Device(volume), machine::DeviceAccess::kReadWrite, machine::control::kExtendVolume,
               machine::ExtendVolumeRequest(sectors), 0)
      .status();
}

// Opens the volume with write access or, if a protected volume refuses that, with read access,
// which is enough for FSCTL_DISMOUNT_VOLUME
// (learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_dismount_volume).
absl::Status Dismount(machine::Os& os, const std::string& volume) {
  const auto dismount = [&](machine::DeviceAccess access) {
    return os.Control(Device(volume), access, machine::control::kDismountVolume, {}, 0).status();
  };
  absl::Status dismounted = dismount(machine::DeviceAccess::kReadWrite);
  if (HasWin32Code(dismounted, {win32_error::kWriteProtect, win32_error::kAccessDenied})) {
    RecordFallback(Fallback::kDismountByReading, dismounted.message());
    dismounted = dismount(machine::DeviceAccess::kRead);
  }
  return Prefixed(absl::StrCat("dismounting volume ", volume), dismounted);
}

absl::Status DeviceWatch::Wait(const CallContext& context) {
  const YieldSlot yielded(context);
  // The interval at which a wait checks whether its caller has left.
  constexpr absl::Duration kLook = absl::Milliseconds(50);
  pause_ = std::clamp(2 * pause_, first_, longest_);
  const SteadyTime until = std::min(SteadyTime::Now() + pause_, context.deadline());
  for (absl::Duration left; (left = until - SteadyTime::Now()) > absl::ZeroDuration();) {
    ABSL_RETURN_IF_ERROR(context.Check());
    os_.AwaitDeviceChange(seen_, std::min(left, kLook));
    if (os_.DeviceChanges() == seen_) continue;
    pause_ = absl::ZeroDuration();
    break;
  }
  return context.Check();
}

}  // namespace csi_proxy::host
