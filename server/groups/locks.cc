#include "server/groups/locks.h"

#include "absl/strings/str_cat.h"

namespace csi_proxy::groups {

absl::StatusOr<ResourceLocks::Lock> LockDisk(ResourceLocks& locks, const CallContext& context,
                                             uint32_t number) {
  return locks.Acquire(context, absl::StrCat("disk/", number));
}

absl::StatusOr<ResourceLocks::Lock> LockPath(ResourceLocks& locks, const CallContext& context,
                                             const ConfinedPath& path) {
  return locks.Acquire(context, absl::StrCat("path/", FoldName(path.path.ToString())));
}

absl::StatusOr<ResourceLocks::Lock> LockVolume(ResourceLocks& locks, const CallContext& context,
                                               const VolumeId& volume) {
  return locks.Acquire(context, absl::StrCat("volume/", volume.guid()));
}

}  // namespace csi_proxy::groups
