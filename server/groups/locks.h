// The locks of calls on sessions, targets, portals, disks, shares, paths and volumes. A call that
// needs several takes them in the order in which they stand here, and disks by their numbers, so
// that no two calls wait for each other. The group system locks services for itself; no call takes
// one of those beside another lock.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "csi_proxy/call_context.h"
#include "server/base/resource_locks.h"
#include "server/base/volume_id.h"
#include "server/base/windows_path.h"
#include "server/host/iscsi_host.h"

namespace csi_proxy::groups {

// Each as ResourceLocks::Acquire().
//
// The lock for logging in to a target by a portal.
inline absl::StatusOr<ResourceLocks::Lock> LockSession(ResourceLocks& locks,
                                                       const CallContext& context,
                                                       const std::string& iqn,
                                                       const host::IscsiPortal& portal) {
  return locks.Acquire(context, absl::StrCat("session/", FoldName(iqn), "@",
                                             FoldName(portal.address), ":", portal.port));
}

// The lock for ending sessions of a target and making them persistent.
inline absl::StatusOr<ResourceLocks::Lock> LockTarget(ResourceLocks& locks,
                                                      const CallContext& context,
                                                      const std::string& iqn) {
  return locks.Acquire(context, absl::StrCat("target/", FoldName(iqn)));
}

inline absl::StatusOr<ResourceLocks::Lock> LockPortal(ResourceLocks& locks,
                                                      const CallContext& context,
                                                      const host::IscsiPortal& portal) {
  return locks.Acquire(context,
                       absl::StrCat("portal/", FoldName(portal.address), ":", portal.port));
}

inline absl::StatusOr<ResourceLocks::Lock> LockDisk(ResourceLocks& locks,
                                                    const CallContext& context, uint32_t number) {
  return locks.Acquire(context, absl::StrCat("disk/", number));
}

// `share` is as UncPath::Share() has it.
inline absl::StatusOr<ResourceLocks::Lock> LockShare(ResourceLocks& locks,
                                                     const CallContext& context,
                                                     const std::string& share) {
  return locks.Acquire(context, absl::StrCat("share/", share));
}

inline absl::StatusOr<ResourceLocks::Lock> LockPath(ResourceLocks& locks,
                                                    const CallContext& context,
                                                    const ConfinedPath& path) {
  return locks.Acquire(context, absl::StrCat("path/", FoldName(path.path.ToString())));
}

inline absl::StatusOr<ResourceLocks::Lock> LockVolume(ResourceLocks& locks,
                                                      const CallContext& context,
                                                      const VolumeId& volume) {
  return locks.Acquire(context, absl::StrCat("volume/", volume.guid()));
}

}  // namespace csi_proxy::groups
