#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/groups/disk/bring_online.h"
#include "server/groups/locks.h"
#include "server/groups/storage/calls.h"
#include "server/groups/try_thrice.h"
#include "server/host/mount_point.h"

namespace csi_proxy::storage {
namespace {

// The state of the target.
struct TargetState {
  bool exists = false;
  // The volume that is mounted at the target.
  std::optional<VolumeId> volume;
  // The disk of the volume; empty if the volume no longer exists, or if the query failed
  // (`is_unknown`).
  std::optional<uint32_t> disk;
  bool is_unknown = false;

  friend bool operator==(const TargetState&, const TargetState&) = default;
};

// One call of UnstageVolume. Takes the disk offline before it removes the mount, because only the
// mount identifies the disk. If the call is killed between the two steps, the repeated call finds a
// mount without its volume, and removes it. In the reverse order the disk would stay online.
// Windows takes a disk offline even if its volumes are mounted, unless it is critical or in use by
// a cluster (learn.microsoft.com/windows-hardware/drivers/storage/msft-disk-offline).
class VolumeUnstager {
 public:
  VolumeUnstager(const groups::HandlerDeps& deps, const CallContext& context,
                 const ConfinedPath& target, bool keep_online, StepClock clock)
      : host_(*deps.host),
        locks_(*deps.locks),
        roots_(deps.roots.get()),
        context_(context),
        target_(target),
        keep_online_(keep_online),
        clock_(clock) {}

  absl::StatusOr<UnstageVolumeResponse> Run() {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      ABSL_ASSIGN_OR_RETURN(const auto state, Look());
      ABSL_ASSIGN_OR_RETURN(const auto done, RunIfStill(state));
      if (done) return std::move(response_);
    }
    return absl::UnavailableError(absl::StrCat("other programs keep changing the mount at ",
                                               target_.path.ToString(), ": repeat the call"));
  }

 private:
  void AddStep(StorageStep step) { clock_.Add(step, &response_); }

  // Adds a warning to the answer and the log. Returns an error if the call has ended, else OK.
  absl::Status Warn(std::string warning) {
    host_.Warn(absl::StrCat("unstaging ", target_.path.ToString(), ": ", warning));
    response_.warnings.push_back(std::move(warning));
    return context_.Check();
  }

  absl::StatusOr<TargetState> Look() {
    // Does not use ReadLink(), because that queries the volume and may hang if its disk has
    // stopped.
    const auto link = host_.filesystem().PeekLink(context_, target_);
    if (absl::IsNotFound(link.status())) return TargetState{};
    if (!link.ok()) return link.status();
    TargetState state;
    state.exists = true;
    real_path_ = link->real_path;
    if (!link->is_link) {
      if (link->is_directory) return state;
      return absl::FailedPreconditionError(
          absl::StrCat("target_path: ", target_.path.ToString(), " is not a directory"));
    }
    if (!link->volume.has_value()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "target_path: ", target_.path.ToString(), " is a link, and no volume is mounted there"));
    }
    state.volume = link->volume;
    const auto disk = groups::TryThrice(
        context_, [&] { return host_.volume().GetDiskNumber(context_, *state.volume); },
        [](const auto& number) { return number.ok() || absl::IsNotFound(number.status()); });
    if (disk.ok()) state.disk = *disk;
    // Ignores the error, because the volume is unmounted even if its disk is not found.
    state.is_unknown = !disk.ok() && !absl::IsNotFound(disk.status());
    ABSL_RETURN_IF_ERROR(context_.Check());
    return state;
  }

  // Unstages the target under its locks. Returns false if `state` is outdated.
  absl::StatusOr<bool> RunIfStill(const TargetState& state) {
    // Another call may keep the lock of the disk or volume for long while it waits for Windows.
    // Then unmounts the volume without the lock, but keeps the disk online for the other call.
    std::vector<ResourceLocks::Lock> locks;
    lacks_lock_ = absl::OkStatus();
    const auto take = [&](groups::LockOrError lock) {
      lacks_lock_.Update(lock.status());
      if (lock.ok()) locks.push_back(*std::move(lock));
      return context_.Check();
    };
    if (state.disk.has_value()) {
      ABSL_RETURN_IF_ERROR(
          take(groups::LockDisk(locks_, host::TeardownStep(context_), *state.disk)));
    }
    ABSL_ASSIGN_OR_RETURN(const auto path_lock, groups::LockPath(locks_, context_, target_));
    if (state.volume.has_value()) {
      ABSL_RETURN_IF_ERROR(
          take(groups::LockVolume(locks_, host::TeardownStep(context_), *state.volume)));
    }
    ABSL_ASSIGN_OR_RETURN(const auto still, Look());
    if (still != state) return false;
    ABSL_RETURN_IF_ERROR(Undo(state));
    return true;
  }

  absl::Status Undo(const TargetState& state) {
    // An earlier call may have ended the mount although the disk stayed online.
    if (!state.volume.has_value() && !keep_online_) {
      response_.warnings.push_back(absl::StrCat(
          "nothing is mounted at ", target_.path.ToString(),
          ", so no disk was looked at: before the cloud detaches the volume's disk, see that "
          "csi-proxyctl storage list-disks shows it offline, or take it offline"));
    }
    if (!state.exists) return absl::OkStatus();
    if (state.volume.has_value()) {
      response_.volume_id = state.volume->ToString();
      // The disk must stay online if the mount must stay. A link on the way may lead to another
      // mount of the volume than it did in Look(), so only the path that was checked counts as
      // here.
      ABSL_ASSIGN_OR_RETURN(real_path_,
                            host_.volume().CheckUnmount(context_, *state.volume, target_));
      if (state.disk.has_value() || state.is_unknown) {
        ABSL_RETURN_IF_ERROR(FlushAndTakeOffline(*state.volume, state.disk));
      }
      ABSL_RETURN_IF_ERROR(host_.volume().Unmount(context_, *state.volume, target_));
      AddStep(StorageStep::kUnmounted);
    }
    const absl::Status removed = host_.filesystem().Remove(context_, target_, false);
    if (removed.ok()) {
      AddStep(StorageStep::kRemovedDirectory);
    } else if (!state.volume.has_value() && absl::IsFailedPrecondition(removed)) {
      return removed;
    } else if (!absl::IsNotFound(removed)) {
      // Only warns, because the kubelet accepts an empty folder but would repeat a failed call.
      (void)Warn(absl::StrCat(
          "nothing is mounted at ", target_.path.ToString(), " any more",
          is_detachable_ ? ", its volume was flushed and its disk is offline: the detach is safe"
                         : "",
          "; but the folder stays: ", removed.message()));
    }
    return absl::OkStatus();
  }

  // Flushes the volume and takes its disk offline. Fails only if the call has ended. Other failures
  // become warnings in the answer, because a remaining mount would keep the cloud from detaching a
  // broken disk.
  absl::Status FlushAndTakeOffline(const VolumeId& volume, std::optional<uint32_t> disk) {
    const absl::Status flushed = host_.volume().FlushBeforeUnmount(context_, volume, target_);
    // The disk may be removed at any time.
    if (absl::IsNotFound(flushed)) return context_.Check();
    AddStep(flushed.ok() ? StorageStep::kFlushed : StorageStep::kNotFlushed);
    // FlushBeforeUnmount() has logged the failure.
    if (!flushed.ok()) response_.warnings.emplace_back(flushed.message());
    ABSL_RETURN_IF_ERROR(context_.Check());
    if (keep_online_) return absl::OkStatus();
    if (!disk.has_value()) {
      return Warn("the disk stays online: Windows does not say which disk the volume is on");
    }
    if (!lacks_lock_.ok()) {
      return Warn(absl::StrCat("disk ", *disk, " stays online: ", lacks_lock_.message()));
    }
    // FAILED_PRECONDITION is final; any other failure may be temporary.
    const CallContext limited = host::TeardownStep(context_);
    const absl::Status stays = groups::TryThrice(
        limited, [&] { return TakeOffline(limited, volume, *disk); },
        [](const absl::Status& done) { return done.ok() || absl::IsFailedPrecondition(done); });
    is_detachable_ = flushed.ok() && stays.ok();
    return stays.ok() ? stays
                      : Warn(absl::StrCat("disk ", *disk, " stays online: ", stays.message()));
  }

  // Takes the disk offline unless it is or may be in use elsewhere. Returns the reason if the disk
  // stays online.
  absl::Status TakeOffline(const CallContext& context, const VolumeId& volume, uint32_t disk) {
    // Describes the disk before IsUsedElsewhere() locates the volume, so that SetOnline() takes no
    // other disk offline that gets the number afterwards.
    ABSL_ASSIGN_OR_RETURN(const auto picture, host_.disk().Describe(context, disk));
    std::vector<ResourceLocks::Lock> locks;
    ABSL_ASSIGN_OR_RETURN(const auto used, IsUsedElsewhere(context, volume, disk, &locks));
    if (used)
      return absl::FailedPreconditionError("a volume of it is, or may be, in use elsewhere");
    const auto change = host_.disk().SetOnline(context, disk, false, &picture);
    if (change.ok() && change->changed) AddStep(StorageStep::kTakenOffline);
    return change.status();
  }

  // Returns true if a volume of the disk is, or may be, mounted elsewhere than at the target, or if
  // another call works on another volume of the disk. Otherwise adds the locks of the other volumes
  // to `locks`. Does not check for Windows' own disk, which SetOnline() itself keeps online.
  absl::StatusOr<bool> IsUsedElsewhere(const CallContext& context, const VolumeId& volume,
                                       uint32_t disk, std::vector<ResourceLocks::Lock>* locks) {
    // Queries the target's volume by its name, because a listing omits volumes that do not answer.
    host::VolumeView own = {.id = volume, .extents = {}};
    ABSL_RETURN_IF_ERROR(host_.volume().ReadMounts(context, roots_, &own));
    // Compares the mounts instead of counting them, because the mount manager does not list a
    // target that is a junction made by hand.
    const auto is_here_too = [&](const host::MountPoint& point) {
      return IsMountAt(point, target_, real_path_);
    };
    if (!std::ranges::all_of(own.mounts, is_here_too)) return true;
    // Windows may have given the number to another disk during the flush.
    const auto located = host_.volume().Locate(context, volume);
    const bool is_here = located.ok() && located->extents.size() == 1 &&
                         located->extents.front().disk_number == disk;
    if (located.ok() && !is_here) return true;
    // A disk with only one partition, as StageVolume makes it, has no other volume.
    if (is_here && host_.disk().HasOnePartition(context, disk)) return false;
    ABSL_ASSIGN_OR_RETURN(const auto layout, host_.disk().GetLayout(context, disk));
    const auto partitions = std::ranges::count_if(layout.partitions, &host::Partition::is_basic);
    ABSL_ASSIGN_OR_RETURN(auto volumes, host_.volume().ListOnDisk(context, disk));
    // A volume that is not listed may be in use.
    if (partitions > 1 && static_cast<int64_t>(volumes.size()) < partitions) return true;
    std::erase_if(volumes, [&](const host::VolumeView& other) { return other.id == volume; });
    const absl::Status locked = disk::LockVolumes(context, host_, locks_, roots_, &volumes, locks);
    if (absl::IsDeadlineExceeded(locked)) return true;
    ABSL_RETURN_IF_ERROR(locked);
    return std::ranges::any_of(volumes,
                               [](const host::VolumeView& other) { return !other.mounts.empty(); });
  }

  host::Host& host_;
  ResourceLocks& locks_;
  const PathRoots* const roots_;
  const CallContext& context_;
  const ConfinedPath& target_;
  const bool keep_online_;
  StepClock clock_;
  // The path of the target after links are followed.
  std::string real_path_;
  // OK, or the reason why a lock was not free in time.
  absl::Status lacks_lock_;
  // True if this call has flushed the volume and taken its disk offline.
  bool is_detachable_ = false;
  UnstageVolumeResponse response_;
};

}  // namespace

bool IsMountAt(const host::MountPoint& point, const ConfinedPath& target,
               absl::string_view real_path) {
  const auto folder = WindowsPath::Parse("folder", point.path);
  if (!folder.ok()) return false;
  if (*folder == target.path) return true;
  const auto real = WindowsPath::Parse("path", real_path);
  return real.ok() && *folder == *real;
}

absl::StatusOr<UnstageVolumeResponse> UnstageVolume(const groups::HandlerDeps& deps,
                                                    const CallContext& context,
                                                    const ConfinedPath& target, bool keep_online,
                                                    StepClock clock) {
  return VolumeUnstager(deps, context, target, keep_online, clock).Run();
}

absl::StatusOr<UnstageVolumeResponse> StorageService::UnstageVolume(
    const CallContext& context, const UnstageVolumeRequest& request) {
  ABSL_ASSIGN_OR_RETURN(const auto target,
                        ConfinedPath::Parse(deps_.roots, "target_path", request.target_path,
                                            Place::kBelowRoots, Spelling::kLenient));
  return storage::UnstageVolume(deps_, context, target, request.keep_online, StepClock());
}

}  // namespace csi_proxy::storage
