// Brings disks and their volumes online, for several groups. REQUIRES: the caller holds the disk's
// lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/groups/handler_deps.h"
#include "server/host/host.h"

namespace csi_proxy::disk {

// The result of BringOnline().
struct Online : host::StateChange {
  // The disk's volumes, without their mounts.
  std::vector<host::VolumeView> volumes;
};

// Brings a disk online, makes it writable and waits for the volumes of its partitions. Waits for
// only one volume if the disk was online and writable before. `disk` is the caller's view of the
// disk under its lock, or null. `seen` is the caller's view of the node's volumes, or null.
absl::StatusOr<Online> BringOnline(host::Host& host, const CallContext& context, uint32_t number,
                                   const host::DiskDescription* disk = nullptr,
                                   host::NodeVolumes* seen = nullptr);

// Waits until at least `wanted` volumes of a disk are listed and the list has not changed for
// `unchanged_for`. Drivers use the first volume of the list and do not check that it exists. If
// volumes are missing after half a second, brings the disk's partitions online, because automount
// may be disabled. After ten seconds one volume suffices. Returns the volumes, without their
// mounts. Returns DEADLINE_EXCEEDED after a minute; `state` is the disk's state in the error. Lists
// the volumes as VolumesOn() does.
absl::StatusOr<std::vector<host::VolumeView>> AwaitVolumes(
    host::Host& host, const CallContext& context, uint32_t number, size_t wanted,
    absl::string_view state, host::NodeVolumes* seen = nullptr,
    absl::Duration unchanged_for = absl::ZeroDuration());

// Locks each volume, waits for the end of its format, and reads its mounts. No other call mounts,
// formats or resizes the volumes until the locks are released. Waits at most a second in all.
absl::Status LockVolumes(const CallContext& context, host::Host& host, ResourceLocks& locks,
                         const PathRoots* roots, std::vector<host::VolumeView>* volumes,
                         std::vector<ResourceLocks::Lock>* held);

// Makes a disk read-only again if `before` is read-only, and takes it offline again if `before` is
// offline, because the disk may be another system's. Returns `failed`, the call's error. Takes at
// most five seconds, even if the call has ended.
//
// Another call may have seen the disk online. So Restore() does not change the disk if one of its
// volumes is or may be in use, or if Windows refuses. Then the error and the log name the state
// that stays.
//
// REQUIRES: the caller holds the disk's lock and no lock of a volume, and has not written to the
// disk.
absl::Status Restore(const groups::HandlerDeps& deps, const CallContext& context,
                     const host::DiskDescription& before, const absl::Status& failed);

}  // namespace csi_proxy::disk
