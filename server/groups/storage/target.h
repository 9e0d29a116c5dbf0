// Steps of StageTarget and UnstageTarget: request fields, and the node's state of a target.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "server/groups/handler_deps.h"
#include "server/host/disk_host.h"
#include "server/host/iscsi_host.h"
#include "server/names/volume_id.h"
#include "server/names/windows_path.h"

namespace csi_proxy::storage {

// Parses the portals of a field. Returns INVALID_ARGUMENT, naming the field, for a malformed
// portal, a duplicate, or more than 16 portals.
absl::StatusOr<std::vector<host::IscsiPortal>> ReadPortals(absl::string_view field,
                                                           const std::vector<std::string>& texts);

// Returns true if both are the same portal, compared case-insensitively.
bool IsSame(const host::IscsiPortal& a, const host::IscsiPortal& b);

// Joins the errors of all portals into one. Its code is the first one that is not UNAVAILABLE, or
// UNAVAILABLE if there is none.
absl::Status NoSessionError(const std::vector<absl::Status>& failed);

// A volume that is mounted at a path, and its disk.
struct MountedVolume {
  VolumeId volume;
  uint32_t disk;
};
// Returns the existing volume mounted at a path, or nullopt.
absl::StatusOr<std::optional<MountedVolume>> FindMounted(host::Host& host,
                                                         const CallContext& context,
                                                         const ConfinedPath& path);

struct UnusedSessions {
  // True if a session was ended.
  bool ended = false;
  // The disks in use, and the disks of sessions that were kept for StageTarget or did not end.
  std::set<uint32_t> disks_in_use;
  // True if a session was kept because StageTarget may use it.
  bool is_being_staged = false;
};
// Ends the sessions of the target that `may_end` accepts. Keeps a session if a StageTarget call
// under way may use it, or if one of its disks is in use:
//
// - a volume of the disk is mounted anywhere,
// - another call works on the disk, or
// - the disk is online with a volume, arrived or not, because another call may be about to mount
//   it.
//
// Checks each disk under its lock, and holds the locks until the sessions have ended. Returns the
// error of a session that Windows does not end.
//
// `unstaged` is the disk of the volume that the caller has just unmounted. This disk is not in use
// although it is online with a volume. A session that does not show this disk may be another
// tenant's, so it cannot make the call fail. If Windows does not end such a session, its disks
// count as in use. If a disk of only such sessions does not answer, that disk counts as in use.
absl::StatusOr<UnusedSessions> EndUnusedSessions(
    const groups::HandlerDeps& deps, const CallContext& context, const std::string& iqn,
    const std::function<bool(const host::IscsiSession&)>& may_end,
    std::optional<uint32_t> unstaged = std::nullopt);

}  // namespace csi_proxy::storage
