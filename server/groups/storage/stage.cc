#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/groups/disk/bring_online.h"
#include "server/groups/fields.h"
#include "server/groups/format.h"
#include "server/groups/locks.h"
#include "server/groups/storage/calls.h"
#include "server/groups/storage/lun.h"
#include "server/groups/volume/grow.h"
#include "server/host/windows_use.h"
#include "server/names/win32_error.h"

namespace csi_proxy::storage {
namespace {

// The most time that a call leaves for its steps after the growth of the volume.
constexpr absl::Duration kAfterGrowth = absl::Seconds(10);

// One call of StageVolume. Each step first checks whether it is done already, and needs nothing
// that an earlier call has remembered, so a call can be repeated after any crash.
class VolumeStager {
 public:
  VolumeStager(const groups::HandlerDeps& deps, const CallContext& context,
               const StageVolumeRequest& request, const StagingFields& fields, StepClock clock = {})
      : deps_(deps),
        host_(*deps.host),
        locks_(*deps.locks),
        context_(context),
        request_(request),
        target_(fields.target),
        options_(fields.options),
        clock_(clock) {}

  absl::StatusOr<StageVolumeResponse> Find() {
    bool rescanned = false;
    const auto disk = FindDisk(deps_, context_, request_.disk, &rescanned);
    if (rescanned) AddStep(StorageStep::kRescanned);
    if (!disk.ok()) return disk.status();
    return Run(*disk);
  }

  absl::StatusOr<StageVolumeResponse> Run(const host::DiskDescription& disk) {
    number_ = disk.number;
    ABSL_ASSIGN_OR_RETURN(const auto disk_lock, groups::LockDisk(locks_, context_, number_));
    ABSL_ASSIGN_OR_RETURN(const auto path_lock, groups::LockPath(locks_, context_, target_));
    ABSL_RETURN_IF_ERROR(host_.disk().AwaitChanges(context_, number_));
    ABSL_RETURN_IF_ERROR(CheckTarget());
    ABSL_RETURN_IF_ERROR(CheckAllocationUnit(disk, options_.allocation_unit_bytes));
    ABSL_RETURN_IF_ERROR(CheckStillFree(disk));
    if (absl::Status staged = StageDisk(); !staged.ok()) return RestoreUnlessWritten(staged);
    return std::move(response_);
  }

 private:
  void AddStep(StorageStep step) { clock_.Add(step, &response_); }
  const PathRoots* roots() const { return deps_.roots.get(); }

  // Stages the disk's volume and fills the answer. Keeps the volume's lock.
  absl::Status StageDisk() {
    ABSL_ASSIGN_OR_RETURN(auto volumes, PrepareDisk());
    const VolumeId id = volumes.front().id;
    ABSL_ASSIGN_OR_RETURN(volume_lock_, groups::LockVolume(locks_, context_, id));
    ABSL_RETURN_IF_ERROR(host_.volume().AwaitFormat(context_, id));
    // Reads the volumes and their mounts again. An offline disk did not show them before, and
    // another program may have given the volume a letter while this call waited for the lock.
    // Windows assigns letters to volumes on MBR disks, so a volume with a letter may be a driver's:
    // it is mounted, but neither formatted nor grown.
    ABSL_ASSIGN_OR_RETURN(volumes, host_.volume().LookAtDisk(context_, number_, roots(), &seen_));
    if (use_.ok()) use_ = host::CheckNotMounted(number_, volumes);
    const auto found = std::ranges::find(volumes, id, &host::VolumeView::id);
    if (found == volumes.end()) {
      return absl::UnavailableError(
          absl::StrCat("the volume of disk ", number_, " disappeared: repeat the call"));
    }
    host::VolumeView& volume = *found;
    ABSL_RETURN_IF_ERROR(host_.disk().CheckStill(disk_));
    ABSL_RETURN_IF_ERROR(CheckNotReplaced(&id));
    ABSL_RETURN_IF_ERROR(FormatOnce(&volume));
    ABSL_RETURN_IF_ERROR(MountAtTarget(volume, volumes));
    if (use_.ok()) {
      ABSL_RETURN_IF_ERROR(GrowToDisk(id));
    } else {
      response_.warnings.push_back(absl::StrCat("the volume is not grown: ", use_.message()));
    }
    ABSL_RETURN_IF_ERROR(CheckWritable(id));

    ABSL_ASSIGN_OR_RETURN(const auto stats, host_.volume().GetStats(context_, id));
    ABSL_ASSIGN_OR_RETURN(const auto size, groups::SignedBytes("size_bytes", stats.total_bytes));
    response_.disk_number = number_;
    response_.volume_id = id.ToString();
    response_.size_bytes = size;
    return absl::OkStatus();
  }

  // Reads the disk under its lock. Returns an error if another disk than `found`, which was read
  // without the lock, has the number now, or if the disk is in use, except in the two cases below.
  absl::Status CheckStillFree(const host::DiskDescription& found) {
    ABSL_ASSIGN_OR_RETURN(disk_, host_.disk().GetLayout(context_, number_));
    ABSL_RETURN_IF_ERROR(host::CheckSame(found, disk_));
    // Only a value that the disk itself reported can be compared later.
    if (found.status.ok()) disk_.page83 = found.page83;
    ABSL_RETURN_IF_ERROR(Prefixed("disk", host::CheckNotWindows(disk_)));
    ABSL_ASSIGN_OR_RETURN(const auto volumes,
                          host_.volume().LookAtDisk(context_, number_, roots(), &seen_));
    use_ = host::CheckNotMounted(number_, volumes);
    // A disk whose volume is mounted at the target may also have a letter or another mount.
    if (use_.ok() || is_staged_) return absl::OkStatus();
    // Windows may assign a letter to a disk that arrives online. So a letter alone is allowed if
    // the request names the disk by page 83, serial number or a target's LUN.
    const bool is_named = request_.disk.number.empty() && request_.disk.lun_id.empty();
    if (is_named) {
      return groups::AboutField("disk",
                                host::CheckOnlyLetters(host_, context_, roots(), number_, volumes));
    }
    return Prefixed("disk", absl::FailedPreconditionError(absl::StrCat(
                                use_.message(),
                                "; if it is unused, remove its letter (`mountvol X: /D`) and "
                                "repeat the call, or name the disk by page 83 or serial number")));
  }

  // Checks the target directory before any change to the disk.
  absl::Status CheckTarget() {
    const std::string path = target_.path.ToString();
    const auto there = host_.filesystem().ReadLink(context_, target_);
    if (absl::IsNotFound(there.status())) return absl::OkStatus();
    if (!there.ok()) return there.status();
    if (!there->is_link) {
      if (there->is_directory) return absl::OkStatus();
      return absl::FailedPreconditionError(
          absl::StrCat("target_path: ", path, " is not a directory"));
    }
    const std::optional<VolumeId>& mounted = there->volume;
    if (!mounted.has_value()) {
      return absl::FailedPreconditionError(
          absl::StrCat("target_path: ", path, " is a link; a volume is mounted at a directory"));
    }
    const auto number = host_.volume().GetDiskNumber(context_, *mounted);
    // The mounted volume no longer exists, and its mount will be replaced. Or the volume is on this
    // disk, and the disk is offline now.
    if (absl::IsNotFound(number.status())) {
      if (!request_.disk.number.empty()) gone_ = *mounted;
      return context_.Check();
    }
    if (!number.ok()) return number.status();
    is_staged_ = *number == number_;
    return is_staged_ ? absl::OkStatus() : AnotherVolume(*mounted);
  }

  absl::Status AnotherVolume(const VolumeId& volume) {
    return absl::AlreadyExistsError(absl::StrCat("target_path: another volume is mounted at ",
                                                 target_.path.ToString(), ": ", volume.ToString()));
  }

  // Returns FAILED_PRECONDITION if the request names the disk by number, and the call would replace
  // the mount of a missing volume: another disk may have the number now. `volume` is the disk's
  // volume, or null.
  absl::Status CheckNotReplaced(const VolumeId* volume) {
    if (!gone_.has_value() || (volume != nullptr && *volume == *gone_)) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "target_path: the volume that is mounted at ", target_.path.ToString(),
        " is gone: ", gone_->ToString(), "; disk ", number_,
        " has another one; name the disk by page 83 or serial number, or unstage the path first"));
  }

  // Brings the disk online, makes it writable and partitions it where needed, and waits for its
  // volume. Returns the disk's volumes, without their mounts.
  absl::StatusOr<std::vector<host::VolumeView>> PrepareDisk() {
    if (IsSecondPath(disk_)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "disk: disk ", number_,
          " is a second path to another disk, and writes through both would destroy the data: "
          "stage the other disk"));
    }
    // The layout of an offline disk may be wrong, but suffices to refuse the disk.
    ABSL_RETURN_IF_ERROR(CheckPartitions(disk_));
    if (use_.ok() && (!disk_.is_online || disk_.is_read_only)) {
      before_ = disk_;
      ABSL_ASSIGN_OR_RETURN(const auto online,
                            disk::BringOnline(host_, context_, number_, &disk_, &seen_));
      if (!before_->is_online) AddStep(StorageStep::kBroughtOnline);
      if (before_->is_read_only || online.was_online_read_only) AddStep(StorageStep::kMadeWritable);
      ABSL_ASSIGN_OR_RETURN(disk_, host_.disk().GetLayout(context_, number_));
      ABSL_RETURN_IF_ERROR(host::CheckSame(*before_, disk_));
      disk_.page83 = before_->page83;
    }
    ABSL_RETURN_IF_ERROR(Partition());
    return disk::AwaitVolumes(host_, context_, number_, 1, "partitioned", &seen_);
  }

  // Restores the disk after the error `failed`, unless the call has written to the disk. Returns
  // `failed`, with a note if the disk could not be restored. Keeps a disk with a data partition
  // online, so that a repeated call finds its volume, but restores a disk that the call refused.
  absl::Status RestoreUnlessWritten(const absl::Status& failed) {
    if (has_written_ || !before_.has_value()) return failed;
    volume_lock_.reset();
    if (DataPartition(*before_) == nullptr || absl::IsFailedPrecondition(failed)) {
      return disk::Restore(deps_, context_, *before_, failed);
    }
    host_.Warn(absl::StrCat("disk ", number_,
                            " stays online and writable for a repeated call: ", failed.message()));
    return failed;
  }

  absl::Status Partition() {
    ABSL_RETURN_IF_ERROR(CheckPartitions(disk_));
    const bool has_partition = DataPartition(disk_) != nullptr;
    if (!has_partition) {
      ABSL_RETURN_IF_ERROR(CheckNotReplaced(nullptr));
    }
    if (disk_.partition_style == PartitionStyle::kRaw) {
      ABSL_RETURN_IF_ERROR(groups::AboutField("disk", groups::CheckBlank(deps_, context_, disk_)));
      has_written_ = true;
      ABSL_RETURN_IF_ERROR(host_.disk().InitializeGpt(context_, disk_));
      was_blank_ = true;
      AddStep(StorageStep::kInitialized);
    }
    if (has_partition) return absl::OkStatus();
    has_written_ = true;
    ABSL_RETURN_IF_ERROR(host_.disk().CreateBasicPartition(context_, disk_));
    AddStep(StorageStep::kPartitioned);
    return absl::OkStatus();
  }

  // Formats the volume if it has no file system. Refuses a volume that holds data, or a file system
  // other than the requested one. REQUIRES: the mounts of `volume` were read under its lock.
  absl::Status FormatOnce(host::VolumeView* volume) {
    ABSL_ASSIGN_OR_RETURN(volume->file_system, host_.volume().GetFileSystem(context_, volume->id));
    const std::string& file_system = volume->file_system.name;
    if (file_system.empty()) {
      if (!use_.ok()) return Prefixed("disk", use_);
      // If the disk was raw, Partition() has already looked throughout the disk.
      const host::Look look = was_blank_ ? host::Look::kAtEnds : host::Look::kThroughout;
      ABSL_RETURN_IF_ERROR(
          groups::AboutField("disk", groups::CheckBlank(deps_, context_, *volume, look)));
      has_written_ = true;
      ABSL_RETURN_IF_ERROR(groups::Format(deps_, context_, *volume, options_));
      AddStep(StorageStep::kFormatted);
      // During the format another program may have mounted the volume.
      return host_.volume().ReadMounts(context_, roots(), volume);
    }
    if (request_.file_system.empty() || absl::EqualsIgnoreCase(file_system, request_.file_system)) {
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(absl::StrCat("file_system: disk ", number_, " has ",
                                                      file_system, " already, not ",
                                                      request_.file_system));
  }

  // Mounts the volume at the target. Reads the target again, because CheckTarget() ran before the
  // disk was prepared. `volumes` are the volumes of the disk.
  absl::Status MountAtTarget(const host::VolumeView& volume,
                             const std::vector<host::VolumeView>& volumes) {
    bool is_mounted = false;
    const auto there = host_.filesystem().ReadLink(context_, target_);
    if (absl::IsNotFound(there.status())) {
      ABSL_RETURN_IF_ERROR(host_.filesystem().MakeDirectories(context_, target_));
      AddStep(StorageStep::kMadeDirectory);
    } else if (!there.ok()) {
      return there.status();
    } else if (const auto& mounted = there->volume; mounted.has_value()) {
      is_mounted = *mounted == volume.id;
      if (!is_mounted && there->target_exists) return AnotherVolume(*mounted);
      if (!is_mounted) {
        ABSL_RETURN_IF_ERROR(host_.volume().Unmount(context_, *mounted, target_));
        AddStep(StorageStep::kUnmounted);
      }
    }
    ABSL_RETURN_IF_ERROR(RemountIfReadOnly(volume, volumes, there.ok() ? there->real_path : ""));
    has_written_ = true;
    if (is_mounted) return absl::OkStatus();
    ABSL_RETURN_IF_ERROR(host_.volume().Mount(context_, volume.id, target_, &disk_));
    AddStep(StorageStep::kMounted);
    return absl::OkStatus();
  }

  // Remounts the disk's read-only file systems, because a call may have been killed after it made
  // the disk writable and before the remount. Has no effect if the volume is mounted at another
  // folder, or if the node uses the disk.
  absl::Status RemountIfReadOnly(const host::VolumeView& volume,
                                 const std::vector<host::VolumeView>& volumes,
                                 const std::string& real_path) {
    if (!use_.ok()) return absl::OkStatus();
    const bool is_elsewhere = std::ranges::any_of(volume.mounts, [&](const auto& point) {
      return !point.is_drive() && !IsMountAt(point, target_, real_path);
    });
    if (is_elsewhere) return absl::OkStatus();
    return host_.volume().MakeWritable(context_, volumes);
  }

  // Grows the volume to fill its disk. A failure becomes a warning in the answer, because the
  // volume is still usable. Returns an error only if the call has ended.
  absl::Status GrowToDisk(const VolumeId& volume) {
    // Locates the volume again, because the disk may have got another number during the format.
    const auto there = host_.volume().Locate(context_, volume);
    const absl::StatusOr<volume::Growth> growth =
        there.ok() ? volume::Grow(host_.volume(), context_.Leaving(4, kAfterGrowth), *there, 0)
                   : there.status();
    ABSL_RETURN_IF_ERROR(context_.Check());
    if (growth.ok() && growth->grew) AddStep(StorageStep::kGrew);
    const std::string why = growth.ok() ? growth->obstacle : std::string(growth.status().message());
    if (!why.empty()) {
      response_.warnings.push_back(absl::StrCat("the volume does not fill its disk: ", why));
    }
    return absl::OkStatus();
  }

  // Adds a warning to the answer if the file system is read-only.
  absl::Status CheckWritable(const VolumeId& volume) {
    // Queries the file system again, because the mount may have changed it.
    ABSL_ASSIGN_OR_RETURN(const auto now, host_.volume().GetFileSystem(context_, volume));
    if (now.read_only) {
      response_.warnings.push_back(absl::StrCat(
          "volume ", volume.ToString(),
          " is read-only: `attributes volume clear readonly` of diskpart makes it writable"));
    }
    return absl::OkStatus();
  }

  const groups::HandlerDeps& deps_;
  host::Host& host_;
  ResourceLocks& locks_;
  const CallContext& context_;
  const StageVolumeRequest& request_;
  const ConfinedPath& target_;
  const host::FormatOptions& options_;
  uint32_t number_ = 0;
  // The disk as GetLayout() described it under the disk's lock, and again after the call brought
  // the disk online. After Partition() the style and the partitions are outdated.
  host::DiskDescription disk_;
  // The node's volumes as the call listed them last. See VolumesOn() of devices.h.
  host::NodeVolumes seen_;
  // True if a volume of the disk was already mounted at the target.
  bool is_staged_ = false;
  // The volume whose mount at the target this call must not replace.
  std::optional<VolumeId> gone_;
  // FAILED_PRECONDITION with the node's use of the disk, or OK; see windows_use.h.
  absl::Status use_;
  // True if this call has found the whole disk blank.
  bool was_blank_ = false;
  // The disk before this call brought it online or made it writable.
  std::optional<host::DiskDescription> before_;
  // True once this call has begun to write to the disk, or to mount its volume.
  bool has_written_ = false;
  std::optional<ResourceLocks::Lock> volume_lock_;
  StepClock clock_;
  StageVolumeResponse response_;
};

}  // namespace

absl::StatusOr<StageVolumeResponse> StorageService::StageVolume(const CallContext& context,
                                                                const StageVolumeRequest& request) {
  ABSL_RETURN_IF_ERROR(CheckSelector(request.disk));
  ABSL_ASSIGN_OR_RETURN(const auto fields, ReadStaging(deps_, request));
  return VolumeStager(deps_, context, request, fields).Find();
}

absl::StatusOr<StagingFields> ReadStaging(const groups::HandlerDeps& deps,
                                          const StageVolumeRequest& request) {
  ABSL_ASSIGN_OR_RETURN(auto target,
                        ConfinedPath::Parse(deps.roots, "target_path", request.target_path,
                                            Place::kBelowRoots, Spelling::kLenient));
  ABSL_ASSIGN_OR_RETURN(
      auto options,
      groups::ReadFormat(request.file_system, request.allocation_unit_bytes, request.label));
  return StagingFields{std::move(target), std::move(options)};
}

absl::StatusOr<StageVolumeResponse> StageFoundDisk(
    const groups::HandlerDeps& deps, const CallContext& context, const StageVolumeRequest& request,
    const StagingFields& fields, const host::DiskDescription& disk, StepClock clock) {
  return VolumeStager(deps, context, request, fields, clock).Run(disk);
}

}  // namespace csi_proxy::storage
