// Finds and queries volumes, mostly through Win32. Mounts them with the volume mount point calls at
// directories that ResolvePath() keeps open. format_volume.cc formats volumes, and resize_volume.cc
// resizes them.
#include "server/host/volume_host.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/fallbacks.h"
#include "server/base/status_macros.h"
#include "server/host/find_volume.h"
#include "server/host/mount_point.h"
#include "server/host/resolve_path.h"
#include "server/host/windows_use.h"
#include "server/machine/cim/errors.h"
#include "server/names/win32_error.h"

namespace csi_proxy::host {
namespace {

using cim::Namespace;
using cim::Value;

constexpr int kMaxClimbingSteps = 256;
// How long GetHealth() waits for WMI, the only source of a volume's health.
constexpr absl::Duration kHealthPatience = absl::Seconds(1);

// Returns true if the volume itself, rather than its disk, is read-only. Then a dismount would not
// make the volume writable, only close its open files.
bool IsMarkedReadOnly(machine::Os& os, const VolumeView& volume) {
  const auto layout = GetDriveLayout(os, volume.extents.front().disk_number);
  return layout.ok() &&
         std::any_of(layout->begin(), layout->end(), [&](const machine::PartitionEntry& entry) {
           return entry.is_read_only && entry.offset == volume.extents.front().offset;
         });
}

// Moves the volumes of system partitions to the end, because drivers take the first volume. The
// active partition of an MBR disk is the one that Windows starts from
// (learn.microsoft.com/windows-hardware/manufacture/desktop/configure-biosmbr-based-hard-drive-partitions).
void SortDataFirst(machine::Os& os, uint32_t disk_number, std::vector<VolumeView>* volumes) {
  const auto layout = GetDriveLayout(os, disk_number);
  if (!layout.ok()) return;
  std::stable_partition(volumes->begin(), volumes->end(), [&](const VolumeView& volume) {
    return std::none_of(layout->begin(), layout->end(), [&](const machine::PartitionEntry& entry) {
      return entry.offset == volume.extents.front().offset &&
             (!entry.holds_volume || entry.is_active);
    });
  });
}

// Returns the walk to the mount of `volume` at `target`, or the errors of VolumeHost::Unmount().
absl::StatusOr<ResolvedPath> WalkToMount(const HostDeps& deps, const CallContext& context,
                                         const VolumeId& volume, const ConfinedPath& target) {
  const std::string path = target.path.ToString();
  ABSL_ASSIGN_OR_RETURN(ResolvedPath walked, ResolvePath(*deps.os, context, target));
  if (!walked.found()) return MissingError(target.path);
  if (!walked.link.has_value() || !walked.link->volume.has_value()) {
    return absl::NotFoundError(absl::StrCat("no volume is mounted at ", path));
  }
  if (walked.link->volume != volume) {
    return absl::FailedPreconditionError(
        absl::StrCat("volume ", walked.link->volume->ToString(), " is mounted at ", path));
  }
  ABSL_RETURN_IF_ERROR(CheckNotKubelets(deps, context, target, walked));
  return walked;
}

}  // namespace

absl::StatusOr<std::vector<VolumeId>> VolumeHost::ListVolumes(const CallContext& context,
                                                              uint32_t disk_number,
                                                              uint32_t partition_number) {
  ABSL_ASSIGN_OR_RETURN(const auto all, ListOnDisk(context, disk_number));
  std::vector<VolumeId> volumes;
  for (const VolumeView& volume : all) {
    if (volume.extents.front().disk_number != disk_number) continue;
    if (partition_number != 0) {
      const absl::StatusOr<uint32_t> number = GetPartitionNumber(os_, volume.id.ToString());
      if (!number.ok() || *number != partition_number) continue;
    }
    volumes.push_back(volume.id);
  }
  if (!volumes.empty() || partition_number == 0) return volumes;
  // Either no volume has arrived yet, or there is no such partition.
  const auto partitions =
      wmi_.Query(context, Namespace::kStorage,
                 cim::Query("MSFT_Partition")
                     .Where("DiskNumber", Value::Uint32(disk_number))
                     .Where("PartitionNumber", Value::Uint32(partition_number)));
  if (!partitions.ok()) {
    return Prefixed(absl::StrCat("listing partitions of disk ", disk_number), partitions.status());
  }
  if (!partitions->empty()) return volumes;
  return absl::NotFoundError(
      absl::StrCat("disk ", disk_number, " has no partition ", partition_number));
}

absl::StatusOr<std::vector<VolumeView>> VolumeHost::ListOnDisk(const CallContext& context,
                                                               uint32_t disk_number,
                                                               NodeVolumes* seen) {
  ABSL_RETURN_IF_ERROR(CheckDisk(os_, disk_number));
  ABSL_ASSIGN_OR_RETURN(auto volumes, VolumesOn(deps_, context, disk_number, seen));
  if (volumes.size() > 1) SortDataFirst(os_, disk_number, &volumes);
  return volumes;
}

absl::StatusOr<std::vector<VolumeView>> VolumeHost::LookAtDisk(const CallContext& context,
                                                               uint32_t disk_number,
                                                               const PathRoots* roots,
                                                               NodeVolumes* seen) {
  ABSL_ASSIGN_OR_RETURN(auto all, ListOnDisk(context, disk_number, seen));
  std::vector<VolumeView> volumes;
  for (VolumeView& volume : all) {
    const absl::Status read = ReadMounts(context, roots, &volume);
    if (absl::IsNotFound(read)) continue;
    ABSL_RETURN_IF_ERROR(read);
    volumes.push_back(std::move(volume));
  }
  ABSL_RETURN_IF_ERROR(context.Check());
  return volumes;
}

absl::StatusOr<VolumeView> VolumeHost::Locate(const CallContext& context, const VolumeId& volume) {
  ABSL_RETURN_IF_ERROR(context.Check());
  auto extents = GetVolumeExtents(os_, volume.ToString());
  if (!extents.ok()) return VolumeError(volume, "locating", extents.status());
  return VolumeView{.id = volume, .extents = *std::move(extents)};
}

absl::StatusOr<machine::FileSystem> VolumeHost::GetFileSystem(const CallContext& context,
                                                              const VolumeId& volume) {
  ABSL_RETURN_IF_ERROR(context.Check());
  auto file_system = os_.GetFileSystem(volume.ToString());
  if (HasWin32Code(file_system.status(), win32_error::kUnrecognizedVolume)) {
    return machine::FileSystem();
  }
  if (!file_system.ok()) return VolumeError(volume, "reading", file_system.status());
  // Windows reports a volume whose content it does not recognise as RAW.
  if (file_system->name != "RAW") {
    deps_.used->Add(volume);
  } else {
    RecordFallback(Fallback::kFileSystemRaw);
    file_system->name.clear();
  }
  return file_system;
}

absl::Status VolumeHost::ReadMounts(const CallContext& context, const PathRoots* roots,
                                    VolumeView* volume) {
  ABSL_RETURN_IF_ERROR(context.Check());
  const auto paths = os_.ListMountPoints(volume->id.ToString());
  if (!paths.ok()) return VolumeError(volume->id, "asking for the folders of", paths.status());
  volume->mounts.clear();
  volume->has_folder = false;
  for (const std::string& path : *paths) {
    MountPoint point{path};
    if (!point.is_drive()) {
      volume->has_folder = true;
      const auto folder = WindowsPath::Parse("folder", path);
      if (folder.ok() && !IsMountPointOf(os_, context, *folder, volume->id)) continue;
      point.is_drivers =
          roots == nullptr || (folder.ok() && IsBelowReally(os_, context, *roots, *folder));
    }
    volume->mounts.push_back(std::move(point));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> VolumeHost::FindData(const CallContext& context,
                                                 const VolumeView& volume, Look look) {
  ABSL_ASSIGN_OR_RETURN(const machine::DiskExtent extent, ExtentOf(volume));
  return host::FindData(os_, context, extent.disk_number, extent.offset, extent.length, look);
}

std::string VolumeHost::SignOfUse(const VolumeView& volume) const {
  if (volume.has_folder) return "a folder mounts it or has mounted it";
  return deps_.used->Has(volume.id) ? "it had a file system earlier" : "";
}

absl::StatusOr<VolumeHealth> VolumeHost::ReadHealth(const CallContext& context,
                                                    const VolumeId& volume) {
  const auto file_system = GetFileSystem(context, volume);
  const bool is_locked = HasWin32Code(file_system.status(), win32_error::kBitLockerLocked);
  if (!file_system.ok() && !is_locked) return file_system.status();
  ABSL_ASSIGN_OR_RETURN(VolumeView view, Locate(context, volume));
  VolumeHealth health{.volume = std::move(view)};
  if (is_locked) {
    health.health = "Locked by BitLocker";
    return health;
  }
  health.volume.file_system = *file_system;
  // A volume without a file system has no health.
  if (file_system->name.empty()) return health;
  const absl::StatusOr<bool> is_dirty = IsDirty(os_, volume.ToString());
  if (!is_dirty.ok()) {
    return VolumeError(volume, "asking for the dirty bit of", is_dirty.status());
  }
  health.is_dirty = *is_dirty;
  return health;
}

absl::StatusOr<VolumeHealth> VolumeHost::GetHealth(const CallContext& context,
                                                   const VolumeId& volume) {
  ABSL_ASSIGN_OR_RETURN(VolumeHealth health, ReadHealth(context, volume));
  if (health.volume.file_system.name.empty()) return health;
  const CallContext brief = context.WithTimeout(kHealthPatience);
  const auto object = FindVolume(wmi_, os_, brief, volume);
  if (object.ok()) {
    health.health = VolumeHealthName(*object);
    return health;
  }
  health.unknown = Prefixed(absl::StrCat("asking for the health of volume ", volume.ToString()),
                            object.status());
  if (brief.Check().ok() || !context.Check().ok()) return health.unknown;
  return health;
}

absl::StatusOr<std::map<VolumeId, std::string>> VolumeHost::ListHealth(const CallContext& context) {
  const auto objects = wmi_.Query(context, Namespace::kStorage, cim::Query("MSFT_Volume"));
  if (!objects.ok()) return Prefixed("listing the health of volumes", objects.status());
  std::map<VolumeId, std::string> health;
  for (const cim::Object& object : *objects) {
    const auto volume = VolumeId::Parse(object.GetStringOr("UniqueId", "").value_or(""));
    if (volume.ok()) health.emplace(*volume, VolumeHealthName(object));
  }
  return health;
}

absl::StatusOr<VolumeStats> VolumeHost::GetStats(const CallContext& context,
                                                 const VolumeId& volume) {
  ABSL_RETURN_IF_ERROR(context.Check());
  const absl::StatusOr<machine::VolumeSpace> space = os_.GetSpace(volume.ToString());
  if (HasWin32Code(space.status(), win32_error::kUnrecognizedVolume)) {
    return absl::FailedPreconditionError(
        absl::StrCat("volume ", volume.ToString(), " has no file system"));
  }
  if (!space.ok()) return VolumeError(volume, "measuring", space.status());
  if (space->free_bytes > space->total_bytes) {
    return absl::InternalError(absl::StrCat("volume ", volume.ToString(), " has ",
                                            space->free_bytes, " bytes free of ",
                                            space->total_bytes, ", which is impossible"));
  }
  return VolumeStats{space->total_bytes, space->total_bytes - space->free_bytes};
}

absl::StatusOr<uint32_t> VolumeHost::GetDiskNumber(const CallContext& context,
                                                   const VolumeId& volume) {
  ABSL_ASSIGN_OR_RETURN(const VolumeView view, Locate(context, volume));
  return view.extents.front().disk_number;
}

absl::Status VolumeHost::Mount(const CallContext& context, const VolumeId& volume,
                               const ConfinedPath& target, const DiskDescription* disk) {
  const std::string path = target.path.ToString();
  ABSL_RETURN_IF_ERROR(AwaitFormat(context, volume));
  ABSL_ASSIGN_OR_RETURN(const machine::FileSystem file_system, GetFileSystem(context, volume));
  if (file_system.name.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("volume ", volume.ToString(), " has no file system"));
  }
  ABSL_ASSIGN_OR_RETURN(ResolvedPath walked, ResolvePath(os_, context, target));
  if (!walked.found()) return MissingError(target.path);
  if (walked.link.has_value() && walked.link->volume == volume) return absl::OkStatus();
  if (walked.link.has_value() && walked.link->volume.has_value()) {
    const VolumeId mounted = *walked.link->volume;
    if (!IsVolumeGone(os_, mounted)) {
      return absl::AlreadyExistsError(
          absl::StrCat("another volume is mounted at ", path, ": ", mounted.ToString()));
    }
    ABSL_RETURN_IF_ERROR(CheckNotKubelets(deps_, context, target, walked));
    // The mount was left by a removed disk. Ends that mount; otherwise the driver would take the
    // folder for a mount of the new disk.
    const absl::Status ended = DeleteMountPoint(deps_, context, mounted, &walked);
    if (!ended.ok()) return Prefixed(absl::StrCat("ending the stale mount at ", path), ended);
    ABSL_ASSIGN_OR_RETURN(walked, ResolvePath(os_, context, target));
    if (!walked.found()) return MissingError(target.path);
  }
  if (!walked.is_directory()) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is not a directory"));
  }
  const auto entries = walked.at().ListNext(true);
  if (!entries.ok()) return Prefixed(path, entries.status());
  if (walked.is_root()) return absl::FailedPreconditionError(absl::StrCat(path, " is not empty"));
  if (!entries->empty()) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is not empty (", kFilesStay, ")"));
  }
  ABSL_ASSIGN_OR_RETURN(const VolumeId holder, VolumeOf(os_, walked));
  if (holder == volume) {
    return absl::FailedPreconditionError(
        absl::StrCat("volume ", volume.ToString(), " holds ", path, " itself"));
  }
  // A mount of Windows' own volume below a working directory would let calls leave the directory.
  const auto mount = [&]() -> absl::Status {
    DiskDescription found;
    if (disk == nullptr) {
      ABSL_ASSIGN_OR_RETURN(const uint32_t number, GetDiskNumber(context, volume));
      ABSL_ASSIGN_OR_RETURN(const auto object, FindMsftDisk(wmi_, context, number));
      if (!object.has_value()) return NoDisk(number);
      found = DescribeDisk(number, *object);
      disk = &found;
    }
    ABSL_RETURN_IF_ERROR(CheckNotWindows(*disk));
    return SetMountPoint(os_, context, volume, &walked);
  };
  return Prefixed(absl::StrCat("mounting volume ", volume.ToString(), " at ", path), mount());
}

absl::StatusOr<std::string> VolumeHost::CheckUnmount(const CallContext& context,
                                                     const VolumeId& volume,
                                                     const ConfinedPath& target) {
  ABSL_ASSIGN_OR_RETURN(const ResolvedPath walked, WalkToMount(deps_, context, volume, target));
  return walked.Path();
}

absl::Status VolumeHost::Unmount(const CallContext& context, const VolumeId& volume,
                                 const ConfinedPath& target) {
  ABSL_ASSIGN_OR_RETURN(ResolvedPath walked, WalkToMount(deps_, context, volume, target));
  return Prefixed(
      absl::StrCat("unmounting volume ", volume.ToString(), " from ", target.path.ToString()),
      DeleteMountPoint(deps_, context, volume, &walked));
}

absl::StatusOr<VolumeId> VolumeHost::GetVolumeAtMountPoint(const CallContext& context,
                                                           const ConfinedPath& path) {
  ABSL_ASSIGN_OR_RETURN(
      const ResolvedPath walked,
      ResolvePath(os_, context, path, {.follow_last = true, .access = machine::Access::kPeek}));
  if (!walked.found()) return MissingError(path.path);
  if (walked.link.has_value() && walked.link->volume.has_value()) return *walked.link->volume;
  if (walked.is_root()) return VolumeOf(os_, walked);
  return absl::NotFoundError(absl::StrCat("no volume is mounted at ", path.path.ToString()));
}

absl::StatusOr<VolumeId> VolumeHost::GetVolumeHolding(const CallContext& context,
                                                      const ConfinedPath& path) {
  ABSL_ASSIGN_OR_RETURN(const ResolvedPath walked, ResolvePath(os_, context, path,
                                                               {.follow_last = true,
                                                                .max_steps = kMaxClimbingSteps,
                                                                .access = machine::Access::kPeek}));
  if (walked.server.has_value()) {
    return absl::NotFoundError(
        absl::StrCat(path.path.ToString(), " is on a server, not on a volume of the node"));
  }
  if (!walked.found()) return MissingError(path.path);
  if (walked.link.has_value() && walked.link->volume.has_value()) return *walked.link->volume;
  return VolumeOf(os_, walked);
}

absl::Status VolumeHost::FlushBeforeUnmount(const CallContext& context, const VolumeId& volume,
                                            const ConfinedPath& target) {
  ABSL_RETURN_IF_ERROR(context.Check());
  const absl::Status flushed =
      host::FlushBeforeUnmount(deps_, context, volume, target.path.ToString());
  const absl::Status over = context.Check();
  return over.ok() ? flushed : over;
}

absl::Status VolumeHost::Flush(const CallContext& context, const VolumeId& volume) {
  ABSL_RETURN_IF_ERROR(context.Check());
  const absl::Status flushed = host::Flush(deps_, context, volume.ToString());
  ABSL_RETURN_IF_ERROR(
      Prefixed(absl::StrCat("flushing volume ", volume.ToString()), context.Check()));
  // A write-protected volume has no pending writes.
  if (flushed.ok() || HasWin32Code(flushed, win32_error::kWriteProtect)) return absl::OkStatus();
  return IsVolumeGone(os_, volume) ? NoVolume(volume) : VolumeError(volume, "flushing", flushed);
}

// A file system checks whether it can write when Windows mounts it. So one that cannot write is
// dismounted, and Windows mounts it again at the first access
// (learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_dismount_volume).
absl::Status VolumeHost::MakeWritable(const CallContext& context,
                                      const std::vector<VolumeView>& volumes) {
  for (const VolumeView& volume : volumes) {
    ABSL_RETURN_IF_ERROR(context.Check());
    const std::string name = volume.id.ToString();
    const auto file_system = os_.GetFileSystem(name);
    if (!file_system.ok() || !file_system->read_only || IsMarkedReadOnly(os_, volume)) continue;
    const absl::Status dismounted = Dismount(os_, name);
    // The device itself is write-protected, regardless of the disk's flag.
    if (HasWin32Code(dismounted, win32_error::kWriteProtect)) continue;
    if (!dismounted.ok()) return dismounted;
  }
  return absl::OkStatus();
}

}  // namespace csi_proxy::host
