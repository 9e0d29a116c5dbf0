// Volumes: found and asked through Win32, formatted and resized through WMI, mounted by the volume
// mount point calls on directories that ResolvePath() holds.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/fallbacks.h"
#include "server/base/status_macros.h"
#include "server/base/win32_error.h"
#include "server/host/devices.h"
#include "server/host/find_volume.h"
#include "server/host/mount_point.h"
#include "server/host/parts.h"
#include "server/host/resolve_path.h"
#include "server/host/storage_namespace.h"
#include "server/host/windows_use.h"
#include "server/machine/cim/errors.h"

namespace csi_proxy::host {
namespace {

using cim::Namespace;
using cim::Value;

constexpr int kMaxClimbingSteps = 256;

constexpr uint64_t kMiB = uint64_t{1} << 20;
// The copy of the GPT at the end of a disk: 32 sectors of table, one of header, of at most 4 KiB
// each
// (learn.microsoft.com/windows-hardware/manufacture/desktop/configure-uefigpt-based-hard-drive-partitions).
constexpr uint64_t kGptCopy = 33 * 4096;

class WindowsVolume final : public VolumeHost {
 public:
  explicit WindowsVolume(const Parts& parts)
      : wmi_(*parts.wmi), storage_(*parts.storage), os_(*parts.os) {}

  absl::StatusOr<std::vector<VolumeId>> ListVolumes(const CallContext& context,
                                                    uint32_t disk_number,
                                                    uint32_t partition_number) override {
    ABSL_RETURN_IF_ERROR(CheckDisk(os_, disk_number));
    // It takes no longer than many calls that keep their slots.
    const CallContext quick = context.With(nullptr);
    ABSL_ASSIGN_OR_RETURN(const auto all,
                          volumes_.Get(quick, [&] { return LocateVolumes(os_, quick); }));
    std::vector<std::pair<uint64_t, VolumeId>> found;
    for (const LocatedVolume& volume : all) {
      if (volume.disk_number != disk_number) continue;
      ABSL_ASSIGN_OR_RETURN(VolumeId id, VolumeId::Parse(volume.name));
      if (partition_number != 0) {
        const absl::StatusOr<uint32_t> number = GetPartitionNumber(os_, volume.name);
        if (!number.ok() || *number != partition_number) continue;
      }
      found.emplace_back(volume.offset, std::move(id));
    }
    std::sort(found.begin(), found.end());
    std::vector<VolumeId> volumes;
    for (auto& [offset, id] : found) volumes.push_back(std::move(id));
    if (!volumes.empty() || partition_number == 0) return volumes;
    // No volume yet, or no such partition?
    const auto partitions =
        wmi_.Query(context, Namespace::kStorage,
                   cim::Query("MSFT_Partition")
                       .Where("DiskNumber", Value::Uint32(disk_number))
                       .Where("PartitionNumber", Value::Uint32(partition_number)));
    if (!partitions.ok()) {
      return Prefixed(absl::StrCat("listing partitions of disk ", disk_number),
                      partitions.status());
    }
    if (!partitions->empty()) return volumes;
    return absl::NotFoundError(
        absl::StrCat("disk ", disk_number, " has no partition ", partition_number));
  }

  absl::StatusOr<std::string> GetFileSystem(const CallContext& context,
                                            const VolumeId& volume) override {
    ABSL_RETURN_IF_ERROR(context.Check());
    const auto file_system = os_.GetFileSystem(volume.ToString());
    if (HasWin32Code(file_system.status(), win32_error::kUnrecognizedVolume)) return std::string();
    if (!file_system.ok()) return About(volume, "reading", file_system.status());
    // Windows calls a volume whose content it does not know RAW.
    if (file_system->name != "RAW") return file_system->name;
    RecordFallback(Fallback::kFileSystemRaw);
    return std::string();
  }

  absl::Status Format(const CallContext& context, const VolumeId& volume,
                      const FormatOptions& options) override {
    const std::string operation = absl::StrCat("formatting volume ", volume.ToString());
    const absl::StatusOr<cim::Object> object = FindVolume(wmi_, os_, context, volume);
    if (!object.ok()) return Prefixed(operation, object.status());
    cim::Arguments arguments = {{"FileSystem", Value::String(options.file_system)},
                                {"FileSystemLabel", Value::String(options.label)},
                                {"Full", Value::Boolean(false)},
                                {"Force", Value::Boolean(true)}};
    if (options.allocation_unit_bytes != 0) {
      arguments["AllocationUnitSize"] = Value::Uint32(options.allocation_unit_bytes);
    }
    const auto result = storage_.Invoke(context, object->path(), "Format", arguments);
    if (!result.ok()) return Prefixed(operation, result.status());
    return cim::StorageStatus(operation, *result);
  }

  absl::StatusOr<VolumeHealth> GetHealth(const CallContext& context,
                                         const VolumeId& volume) override {
    ABSL_ASSIGN_OR_RETURN(const std::string file_system, GetFileSystem(context, volume));
    const auto extents = GetVolumeExtents(os_, volume.ToString());
    if (!extents.ok()) return About(volume, "locating", extents.status());
    VolumeHealth health;
    health.file_system = file_system;
    health.disk_number = extents->front().disk_number;
    // A volume without a file system has no health.
    if (file_system.empty()) return health;
    const absl::StatusOr<bool> is_dirty = IsDirty(os_, volume.ToString());
    if (!is_dirty.ok()) return About(volume, "asking for the dirty bit of", is_dirty.status());
    health.is_dirty = *is_dirty;
    const auto object = FindVolume(wmi_, os_, context, volume);
    if (!object.ok()) {
      return Prefixed(absl::StrCat("asking for the health of volume ", volume.ToString()),
                      object.status());
    }
    health.health = VolumeHealthName(*object);
    return health;
  }

  absl::StatusOr<uint64_t> GetSize(const CallContext& context, const VolumeId& volume) override {
    ABSL_ASSIGN_OR_RETURN(const machine::DiskExtent extent, ExtentOf(context, volume));
    return extent.length;
  }

  // Does not call MSFT_Partition.GetSupportedSize, which also measures how far the volume could
  // shrink, and for that needs the service that optimises drives. If that service is disabled, or
  // busy, the method fails (kubernetes-sigs/aws-ebs-csi-driver issue 2877). The partitions tell how
  // far a volume can grow.
  absl::StatusOr<uint64_t> GetSupportedSize(const CallContext& context,
                                            const VolumeId& volume) override {
    ABSL_ASSIGN_OR_RETURN(const machine::DiskExtent extent, ExtentOf(context, volume));
    UpdateDiskLength(os_, extent.disk_number);
    ABSL_ASSIGN_OR_RETURN(const uint64_t disk_bytes, GetDiskLength(os_, extent.disk_number));
    ABSL_ASSIGN_OR_RETURN(const auto partitions, Partitions(context, extent));
    uint64_t end = disk_bytes > kGptCopy ? disk_bytes - kGptCopy : 0;
    for (const cim::Object& partition : partitions) {
      ABSL_ASSIGN_OR_RETURN(const auto offset, partition.GetUint64("Offset"));
      if (offset > extent.offset) end = std::min(end, offset);
    }
    // Windows does not add less than 1 MiB.
    const uint64_t room = end > extent.offset ? (end - extent.offset) / kMiB * kMiB : 0;
    return std::max(room, extent.length);
  }

  absl::Status Resize(const CallContext& context, const VolumeId& volume, uint64_t size_bytes,
                      ResizeTo how) override {
    const std::string operation = absl::StrCat("resizing volume ", volume.ToString());
    ABSL_ASSIGN_OR_RETURN(const machine::DiskExtent extent, ExtentOf(context, volume));
    const auto partition = PartitionAt(context, extent);
    if (!partition.ok()) return Prefixed(operation, partition.status());
    const auto resize = [&](uint64_t bytes) {
      return storage_.Invoke(context, partition->path(), "Resize",
                             {{"Size", Value::Uint64(bytes)}});
    };
    absl::StatusOr<cim::MethodResult> result = resize(size_bytes);
    // The provider may not know yet that the disk has grown.
    if (IsSizeNotSupported(result) && storage_.UpdateCache(context).ok()) {
      RecordFallback(Fallback::kResizeRepeated);
      result = resize(size_bytes);
    }
    // Windows may keep more for itself than was computed.
    if (IsSizeNotSupported(result) && how == ResizeTo::kAtMost) {
      RecordFallback(Fallback::kWindowsOwnMaximum);
      const absl::StatusOr<uint64_t> most = WindowsOwnMaximum(context, *partition);
      if (most.ok() && *most <= extent.length) return absl::OkStatus();
      if (most.ok() && *most < size_bytes) result = resize(*most);
    }
    if (!result.ok()) return Prefixed(operation, result.status());
    return cim::StorageStatus(operation, *result);
  }

  absl::StatusOr<VolumeStats> GetStats(const CallContext& context,
                                       const VolumeId& volume) override {
    ABSL_RETURN_IF_ERROR(context.Check());
    const absl::StatusOr<machine::VolumeSpace> space = os_.GetSpace(volume.ToString());
    if (HasWin32Code(space.status(), win32_error::kUnrecognizedVolume)) {
      return absl::FailedPreconditionError(
          absl::StrCat("volume ", volume.ToString(), " has no file system"));
    }
    if (!space.ok()) return About(volume, "measuring", space.status());
    if (space->free_bytes > space->total_bytes) {
      return absl::InternalError(absl::StrCat("volume ", volume.ToString(), " has ",
                                              space->free_bytes, " bytes free of ",
                                              space->total_bytes, ", which cannot be"));
    }
    return VolumeStats{space->total_bytes, space->total_bytes - space->free_bytes};
  }

  absl::StatusOr<uint32_t> GetDiskNumber(const CallContext& context,
                                         const VolumeId& volume) override {
    ABSL_RETURN_IF_ERROR(context.Check());
    const auto extents = GetVolumeExtents(os_, volume.ToString());
    if (!extents.ok()) return About(volume, "locating", extents.status());
    return extents->front().disk_number;
  }

  absl::Status Mount(const CallContext& context, const VolumeId& volume,
                     const ConfinedPath& target) override {
    const std::string path = target.path.ToString();
    ABSL_ASSIGN_OR_RETURN(const std::string file_system, GetFileSystem(context, volume));
    if (file_system.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("volume ", volume.ToString(), " has no file system"));
    }
    ABSL_ASSIGN_OR_RETURN(ResolvedPath walked, ResolvePath(os_, context, target));
    if (!walked.found()) return MissingError(target.path);
    if (walked.link.has_value() && walked.link->volume == volume) return absl::OkStatus();
    if (walked.link.has_value() && walked.link->volume.has_value()) {
      return absl::AlreadyExistsError(absl::StrCat("another volume is mounted at ", path, ": ",
                                                   walked.link->volume->ToString()));
    }
    if (!walked.is_directory()) {
      return absl::FailedPreconditionError(absl::StrCat(path, " is not a directory"));
    }
    const absl::StatusOr<std::vector<std::string>> names = walked.at().List();
    if (!names.ok()) return Prefixed(path, names.status());
    if (walked.is_root() || !names->empty()) {
      return absl::FailedPreconditionError(absl::StrCat(path, " is not empty"));
    }
    ABSL_ASSIGN_OR_RETURN(const VolumeId holder, VolumeOf(os_, walked));
    if (holder == volume) {
      return absl::FailedPreconditionError(
          absl::StrCat("volume ", volume.ToString(), " holds ", path, " itself"));
    }
    // Below a working directory, Windows' own volume would lead calls out of there.
    absl::Status mounted = CheckNotWindows(wmi_, os_, context, volume);
    if (mounted.ok()) mounted = SetMountPoint(os_, context, volume, &walked);
    return Prefixed(absl::StrCat("mounting volume ", volume.ToString(), " at ", path), mounted);
  }

  absl::Status Unmount(const CallContext& context, const VolumeId& volume,
                       const ConfinedPath& target) override {
    const std::string path = target.path.ToString();
    ABSL_ASSIGN_OR_RETURN(ResolvedPath walked, ResolvePath(os_, context, target));
    if (!walked.found()) return MissingError(target.path);
    if (!walked.link.has_value() || !walked.link->volume.has_value()) {
      return absl::NotFoundError(absl::StrCat("no volume is mounted at ", path));
    }
    if (walked.link->volume != volume) {
      return absl::FailedPreconditionError(
          absl::StrCat("volume ", walked.link->volume->ToString(), " is mounted at ", path));
    }
    return Prefixed(absl::StrCat("unmounting volume ", volume.ToString(), " from ", path),
                    DeleteMountPoint(os_, context, volume, &walked));
  }

  absl::StatusOr<VolumeId> GetVolumeAtMountPoint(const CallContext& context,
                                                 const ConfinedPath& path) override {
    ABSL_ASSIGN_OR_RETURN(
        const ResolvedPath walked,
        ResolvePath(os_, context, path, {.follow_last = true, .access = machine::Access::kPeek}));
    if (!walked.found()) return MissingError(path.path);
    if (walked.link.has_value() && walked.link->volume.has_value()) return *walked.link->volume;
    if (walked.is_root()) return VolumeOf(os_, walked);
    return absl::NotFoundError(absl::StrCat("no volume is mounted at ", path.path.ToString()));
  }

  absl::StatusOr<VolumeId> GetVolumeHolding(const CallContext& context,
                                            const ConfinedPath& path) override {
    ABSL_ASSIGN_OR_RETURN(const ResolvedPath walked,
                          ResolvePath(os_, context, path,
                                      {.follow_last = true,
                                       .max_steps = kMaxClimbingSteps,
                                       .access = machine::Access::kPeek}));
    if (!walked.on_server.empty()) {
      return absl::NotFoundError(
          absl::StrCat(path.path.ToString(), " leads to a server, where no volume of the node is"));
    }
    if (!walked.found()) return MissingError(path.path);
    if (walked.link.has_value() && walked.link->volume.has_value()) return *walked.link->volume;
    return VolumeOf(os_, walked);
  }

  absl::StatusOr<std::vector<MountPoint>> ListMountPoints(const CallContext& context,
                                                          const VolumeId& volume,
                                                          const PathRoots* roots) override {
    ABSL_RETURN_IF_ERROR(context.Check());
    const absl::StatusOr<std::vector<std::string>> paths = os_.ListMountPoints(volume.ToString());
    if (!paths.ok()) return About(volume, "asking for the folders of", paths.status());
    std::vector<MountPoint> points;
    for (const std::string& path : *paths) {
      MountPoint point{path, false};
      if (!point.is_drive()) {
        if (!LeadsTo(os_, context, path, volume)) continue;
        point.is_drivers = roots == nullptr || IsBelowReally(os_, context, *roots, path);
      }
      points.push_back(std::move(point));
    }
    return points;
  }

  absl::Status Flush(const CallContext& context, const VolumeId& volume) override {
    ABSL_RETURN_IF_ERROR(context.Check());
    const absl::Status flushed = host::Flush(os_, context, volume.ToString());
    // A write-protected volume holds no pending writes.
    if (flushed.ok() || HasWin32Code(flushed, win32_error::kWriteProtect)) return absl::OkStatus();
    return IsVolumeGone(os_, volume) ? NoVolume(volume) : About(volume, "flushing", flushed);
  }

  // A file system finds out when it is mounted whether it can write. Windows mounts it at the first
  // access after a dismount
  // (learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_dismount_volume).
  absl::Status MakeWritable(const CallContext& context, uint32_t disk_number) override {
    ABSL_ASSIGN_OR_RETURN(const std::vector<VolumeId> volumes,
                          ListVolumes(context, disk_number, 0));
    for (const VolumeId& volume : volumes) {
      ABSL_RETURN_IF_ERROR(context.Check());
      const std::string& name = volume.ToString();
      const auto file_system = os_.GetFileSystem(name);
      if (!file_system.ok() || !file_system->read_only) continue;
      const absl::Status dismounted = Dismount(os_, name);
      // The device itself cannot be written, whatever the disk's flag says.
      if (HasWin32Code(dismounted, win32_error::kWriteProtect)) continue;
      if (!dismounted.ok()) return dismounted;
    }
    return absl::OkStatus();
  }

 private:
  // The one place where a volume of a basic disk lies.
  absl::StatusOr<machine::DiskExtent> ExtentOf(const CallContext& context, const VolumeId& volume) {
    ABSL_RETURN_IF_ERROR(context.Check());
    const auto extents = GetVolumeExtents(os_, volume.ToString());
    if (!extents.ok()) return About(volume, "locating", extents.status());
    if (extents->size() == 1) return extents->front();
    return absl::FailedPreconditionError(absl::StrCat(
        "volume ", volume.ToString(), " spans several disks or partitions of a dynamic disk"));
  }

  // The MSFT_Partition that a volume fills.
  absl::StatusOr<cim::Object> PartitionAt(const CallContext& context,
                                          const machine::DiskExtent& extent) {
    ABSL_ASSIGN_OR_RETURN(auto partitions, Partitions(context, extent));
    for (cim::Object& partition : partitions) {
      ABSL_ASSIGN_OR_RETURN(const auto offset, partition.GetUint64("Offset"));
      if (offset == extent.offset) return std::move(partition);
    }
    return absl::InternalError("WMI does not know a partition at its place");
  }

  static bool IsSizeNotSupported(const absl::StatusOr<cim::MethodResult>& result) {
    return result.ok() && result->return_value == cim::kSizeNotSupported;
  }

  // The largest size of a partition, as MSFT_Partition.GetSupportedSize has it.
  absl::StatusOr<uint64_t> WindowsOwnMaximum(const CallContext& context,
                                             const cim::Object& partition) {
    ABSL_ASSIGN_OR_RETURN(const auto supported,
                          storage_.Invoke(context, partition.path(), "GetSupportedSize"));
    const absl::Status status = cim::StorageStatus("measuring the partition", supported);
    if (!status.ok()) return status;
    return supported.out.GetUint64("SizeMax");
  }

  // The partitions of a disk that is to be changed. FAILED_PRECONDITION when it is Windows' own.
  absl::StatusOr<std::vector<cim::Object>> Partitions(const CallContext& context,
                                                      const machine::DiskExtent& extent) {
    auto partitions = wmi_.Query(
        context, Namespace::kStorage,
        cim::Query("MSFT_Partition").Where("DiskNumber", Value::Uint32(extent.disk_number)));
    if (!partitions.ok()) {
      return Prefixed(absl::StrCat("listing partitions of disk ", extent.disk_number),
                      partitions.status());
    }
    // A disk is Windows' own when one of its partitions is.
    bool is_boot = false;
    bool is_system = false;
    for (const cim::Object& partition : *partitions) {
      is_boot |= partition.GetBoolean("IsBoot").value_or(false);
      is_system |= partition.GetBoolean("IsSystem").value_or(false);
    }
    const absl::Status own = CheckNotWindows(extent.disk_number, is_boot, is_system);
    if (!own.ok()) return own;
    return partitions;
  }

  cim::Session& wmi_;
  StorageNamespace& storage_;
  machine::Os& os_;
  SharedRun<absl::StatusOr<std::vector<LocatedVolume>>> volumes_;
};

}  // namespace

std::unique_ptr<VolumeHost> NewVolumeHost(const Parts& parts) {
  return std::make_unique<WindowsVolume>(parts);
}

}  // namespace csi_proxy::host
