#include "server/groups/disk/bring_online.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "csi_proxy/steady_time.h"
#include "server/base/fallbacks.h"
#include "server/base/status_macros.h"
#include "server/groups/locks.h"
#include "server/groups/try_thrice.h"
#include "server/names/win32_error.h"

namespace csi_proxy::disk {
namespace {

// How long to wait for a disk's first volume, for further volumes and for automount, and the
// shortest and longest interval of the polls.
constexpr absl::Duration kVolumeArrival = absl::Seconds(60);
constexpr absl::Duration kFurtherVolumes = absl::Seconds(10);
constexpr absl::Duration kAutomount = absl::Milliseconds(500);
constexpr absl::Duration kFirstPoll = absl::Milliseconds(10);
constexpr absl::Duration kLastPoll = absl::Milliseconds(250);
// How long the volumes must stay unchanged after the read-only flag of an online disk was cleared.
// Windows may remove the volumes and bring them back
// (github.com/kubernetes-sigs/vsphere-csi-driver/issues/1631) and does not report the end of this.
constexpr absl::Duration kSettled = absl::Milliseconds(200);

// The time for a check that a disk is not in use, and the time for each change of Restore().
constexpr absl::Duration kToLook = absl::Seconds(1);
constexpr absl::Duration kToRestore = absl::Seconds(2);

// Locks the disk's volumes. Returns an error if a volume is mounted at a folder, NOT_FOUND if
// another disk has the number, and UNAVAILABLE if a volume leaves the disk meanwhile.
absl::Status LockUnused(const groups::HandlerDeps& deps, const CallContext& context,
                        const host::DiskDescription& disk, host::NodeVolumes* seen,
                        std::vector<ResourceLocks::Lock>* locks) {
  ABSL_ASSIGN_OR_RETURN(const auto now, deps.host->disk().Describe(context, disk.number));
  if (!host::CheckSame(disk, now).ok()) return absl::NotFoundError("another disk has the number");
  ABSL_ASSIGN_OR_RETURN(auto volumes, deps.host->volume().ListOnDisk(context, disk.number, seen));
  const absl::Status locked =
      LockVolumes(context, *deps.host, *deps.locks, nullptr, &volumes, locks);
  if (absl::IsNotFound(locked)) return absl::UnavailableError("a volume of it has just left");
  ABSL_RETURN_IF_ERROR(locked);
  for (const host::VolumeView& volume : volumes) {
    for (const host::MountPoint& point : volume.mounts) {
      if (!point.is_drive()) return absl::FailedPreconditionError("its volume is mounted");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Online> BringOnline(host::Host& host, const CallContext& context, uint32_t number,
                                   const host::DiskDescription* disk, host::NodeVolumes* seen) {
  host::NodeVolumes own;
  if (seen == nullptr) seen = &own;
  Online online;
  ABSL_ASSIGN_OR_RETURN(static_cast<host::StateChange&>(online),
                        host.disk().SetOnline(context, number, true, disk));
  if (disk == nullptr && online.found.has_value()) disk = &*online.found;
  // Counts the volumes only now, because the layout of an offline disk may be wrong.
  ABSL_ASSIGN_OR_RETURN(const auto promised, host.disk().CountPromisedVolumes(context, number));
  // If the disk was online and writable before, a volume that is still missing is unlikely to
  // arrive.
  const bool may_all_arrive = online.changed || online.was_online_read_only;
  const size_t wanted = may_all_arrive ? promised : std::min<size_t>(promised, 1);
  const absl::Duration unchanged_for =
      online.was_online_read_only ? kSettled : absl::ZeroDuration();
  ABSL_ASSIGN_OR_RETURN(online.volumes,
                        AwaitVolumes(host, context, number, wanted, "online", seen, unchanged_for));
  // Does not remount volumes of a disk that was online and writable before, because programs may
  // use these volumes.
  if (may_all_arrive) {
    if (disk != nullptr) {
      ABSL_RETURN_IF_ERROR(host.disk().CheckStill(*disk));
    }
    ABSL_RETURN_IF_ERROR(host.volume().MakeWritable(context, online.volumes));
  }
  return online;
}

absl::StatusOr<std::vector<host::VolumeView>> AwaitVolumes(
    host::Host& host, const CallContext& context, uint32_t number, size_t wanted,
    absl::string_view state, host::NodeVolumes* seen, absl::Duration unchanged_for) {
  if (wanted == 0) return host.volume().ListOnDisk(context, number, seen);
  const CallContext waiting = context.WithTimeout(kVolumeArrival);
  const SteadyTime mount_at = SteadyTime::Now() + kAutomount;
  const SteadyTime one_will_do_at = SteadyTime::Now() + kFurtherVolumes;
  bool asked = false;
  absl::Status onlined;
  std::vector<VolumeId> last;
  SteadyTime same_since = SteadyTime::Now();
  host::DeviceWatch devices = host.WatchDevices(kFirstPoll, kLastPoll);
  while (true) {
    devices.Watch();
    ABSL_ASSIGN_OR_RETURN(auto volumes, host.volume().ListOnDisk(waiting, number, seen));
    const SteadyTime now = SteadyTime::Now();
    if (!std::ranges::equal(volumes, last, {}, &host::VolumeView::id)) {
      last.clear();
      for (const host::VolumeView& volume : volumes) last.push_back(volume.id);
      same_since = now;
    }
    const bool are_enough = last.size() >= wanted || (!last.empty() && now >= one_will_do_at);
    if (are_enough && now - same_since >= unchanged_for) {
      if (last.size() < wanted) RecordFallback(Fallback::kFewerVolumes);
      return volumes;
    }
    // Without automount Windows does not mount a new volume. Waits for kAutomount first, so that
    // automount can mount the volume.
    if (!asked && now >= mount_at && !are_enough) {
      asked = true;
      RecordFallback(Fallback::kPartitionsBroughtOnline);
      onlined = host.disk().BringPartitionsOnline(waiting, number);
    }
    if (absl::Status s = devices.Wait(waiting); !s.ok()) {
      return absl::Status(s.code(), absl::StrCat("disk ", number, " is ", state,
                                                 ", but its volume has not arrived: ", s.message(),
                                                 onlined.ok() ? "" : "; ", onlined.message()));
    }
  }
}

absl::Status LockVolumes(const CallContext& context, host::Host& host, ResourceLocks& locks,
                         const PathRoots* roots, std::vector<host::VolumeView>* volumes,
                         std::vector<ResourceLocks::Lock>* held) {
  const CallContext waiting = context.WithTimeout(kToLook);
  for (host::VolumeView& volume : *volumes) {
    ABSL_ASSIGN_OR_RETURN(auto lock, groups::LockVolume(locks, waiting, volume.id));
    held->push_back(std::move(lock));
    ABSL_RETURN_IF_ERROR(host.volume().AwaitFormat(waiting, volume.id));
    ABSL_RETURN_IF_ERROR(host.volume().ReadMounts(context, roots, &volume));
  }
  return absl::OkStatus();
}

absl::Status Restore(const groups::HandlerDeps& deps, const CallContext& context,
                     const host::DiskDescription& before, const absl::Status& failed) {
  if (before.is_online && !before.is_read_only) return failed;
  const uint32_t number = before.number;
  std::vector<ResourceLocks::Lock> volumes;
  // Lists the volumes again, because a volume may have arrived or been mounted since the call
  // listed them.
  host::NodeVolumes seen;
  const CallContext looking = context.Afterwards(kToLook);
  absl::Status undone = groups::TryThrice(
      looking,
      [&] {
        volumes.clear();
        seen.clear();
        return LockUnused(deps, looking, before, &seen, &volumes);
      },
      [](const absl::Status& done) { return !absl::IsUnavailable(done); });
  if (absl::IsNotFound(undone)) return failed;
  const bool may_undo = undone.ok();
  host::DiskHost& host = deps.host->disk();
  const auto undo = [&](bool was, auto step) {
    if (!was || !may_undo) return;
    const CallContext undoing = context.Afterwards(kToRestore);
    undone.Update(groups::TryThrice(
        undoing,
        [&]() -> absl::Status {
          // Another disk may have got the number since LockUnused().
          ABSL_RETURN_IF_ERROR(host.CheckStill(undoing, before));
          return step(undoing);
        },
        [](const absl::Status& done) { return done.ok(); }));
  };
  undo(before.is_read_only, [&](const CallContext& undoing) {
    return host.SetReadOnly(undoing, number, true, &seen, &before);
  });
  undo(!before.is_online, [&](const CallContext& undoing) {
    return host.SetOnline(undoing, number, false, &before).status();
  });
  if (undone.ok()) return failed;
  const std::string stays =
      absl::StrCat("disk ", number, " stays online or writable: ", undone.message());
  deps.host->Warn(stays);  // a caller that has left does not see the error
  return Appended(failed, absl::StrCat("and ", stays));
}

}  // namespace csi_proxy::disk
