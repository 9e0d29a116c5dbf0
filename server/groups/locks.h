// The locks of calls on listings, sessions, targets, portals, disks, shares, paths and volumes. Two
// calls must never wait for each other. So a call that needs several locks must take them in the
// order of this file, and must lock disks in the order of their numbers. It may lock several
// volumes only under the lock of their disk. Calls of the system group lock only services, in
// system_service.cc.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "csi_proxy/call_context.h"
#include "server/host/iscsi_host.h"
#include "server/locks/resource_locks.h"
#include "server/names/volume_id.h"
#include "server/names/windows_path.h"

namespace csi_proxy::groups {

using LockOrError = absl::StatusOr<ResourceLocks::Lock>;

// The functions return the errors of ResourceLocks::Acquire().
//
// Locks the tenant's listing of links: a step of ListMounts, ListSmbMappings and RemoveMount that
// may read the whole tree and keep a processor busy. So a tenant runs one listing at a time.
// REQUIRES: the caller releases the lock before any other wait.
inline LockOrError LockListing(ResourceLocks& locks, const CallContext& context) {
  return locks.Acquire(context, absl::StrCat("listing/", context.peer().tenant));
}

// Locks the login to a target over a portal.
inline LockOrError LockSession(ResourceLocks& locks, const CallContext& context,
                               const std::string& iqn, const host::IscsiPortal& portal) {
  return locks.Acquire(context, absl::StrCat("session/", FoldName(iqn), "@",
                                             FoldName(portal.address), ":", portal.port));
}

// Locks the sessions of a target, so that no other call ends them or makes them persistent.
inline LockOrError LockTarget(ResourceLocks& locks, const CallContext& context,
                              const std::string& iqn) {
  return locks.Acquire(context, absl::StrCat("target/", FoldName(iqn)));
}

inline LockOrError LockPortal(ResourceLocks& locks, const CallContext& context,
                              const host::IscsiPortal& portal) {
  return locks.Acquire(context,
                       absl::StrCat("portal/", FoldName(portal.address), ":", portal.port));
}

inline LockOrError LockDisk(ResourceLocks& locks, const CallContext& context, uint32_t number) {
  return locks.Acquire(context, absl::StrCat("disk/", number));
}

// Locks a share. REQUIRES: `share` is a UncPath::Share().
inline LockOrError LockShare(ResourceLocks& locks, const CallContext& context,
                             const std::string& share) {
  return locks.Acquire(context, absl::StrCat("share/", share));
}

inline LockOrError LockPath(ResourceLocks& locks, const CallContext& context,
                            const ConfinedPath& path) {
  return locks.Acquire(context, absl::StrCat("path/", FoldName(path.path.ToString())));
}

inline LockOrError LockVolume(ResourceLocks& locks, const CallContext& context,
                              const VolumeId& volume) {
  return locks.Acquire(context, absl::StrCat("volume/", volume.guid()));
}

}  // namespace csi_proxy::groups
