// The iSCSI portals that a node can reach, and its sessions. A session outlives the registration of
// its portal. Callers must hold the lock of Core, and must have checked the arguments.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/simulator/state.h"

namespace csi_proxy::machine::simulator {

struct ChapCredentials {
  ChapMode mode = ChapMode::kNone;
  std::string username;
  Secret secret;
};

// Returns `address:port`, the resource that a fault rule names.
std::string PortalText(const IscsiPortal& portal);

absl::Status AddPortal(NodeState& state, const IscsiPortal& portal,
                       const ChapCredentials& credentials = {});
absl::Status RemovePortal(NodeState& state, const IscsiPortal& portal);
absl::StatusOr<std::vector<std::string>> DiscoverTargets(NodeState& state,
                                                         const IscsiPortal& portal);

// Returns the target that a portal offers, or NOT_FOUND. The portal must be registered or have a
// session with the target.
absl::StatusOr<IscsiTarget*> FindTarget(NodeState& state, const IscsiPortal& portal,
                                        const std::string& iqn);
// Returns the targets with the name `iqn` at all portals, in the order of the portals.
std::vector<IscsiTarget*> TargetsNamed(NodeState& state, const std::string& iqn);
// Returns the paths to one target, in the order of the portals. The first path has the target's
// disks.
std::vector<IscsiTarget*> PathsTo(NodeState& state, const IscsiTarget& target);
// Returns true if the target has a session and the session's portal answers. Windows keeps a
// session after its portal has gone, and removes the session's disks
// (learn.microsoft.com/archive/blogs/san/microsoft-iscsi-software-initiator-and-isns-server-timers-quick-reference,
// LinkDownTime).
bool IsLive(const NodeState& state, const IscsiTarget& target);
// Returns true if Windows sees `target.disks`.
bool ShowsDisks(NodeState& state, const IscsiTarget& target);
// Returns the disks that the session of `target` shows.
const std::vector<Disk>& DisksBy(NodeState& state, const IscsiTarget& target);

// Opens a session. Returns ALREADY_EXISTS if this portal already has a session with the target, or
// if any portal has one and `multipath` is false
// (learn.microsoft.com/windows/win32/api/vds/ne-vds-vds_iscsi_login_flag); NOT_FOUND like
// FindTarget(); UNAVAILABLE if the portal does not answer; FAILED_PRECONDITION if the
// authentication fails.
absl::Status Connect(NodeState& state, const IscsiPortal& portal, const std::string& iqn,
                     const ChapCredentials& credentials, bool multipath);
absl::Status Disconnect(NodeState& state, IscsiTarget* target);
// Ends all sessions, then opens the persistent sessions whose portals answer, as a restart of the
// node does (learn.microsoft.com/powershell/module/iscsi/register-iscsisession).
void RestartSessions(NodeState& state);
// Returns INVALID_ARGUMENT unless the secret has 12 to 16 bytes.
absl::Status SetMutualChapSecret(NodeState& state, const Secret& secret);

}  // namespace csi_proxy::machine::simulator
