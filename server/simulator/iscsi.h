// The iSCSI portals a node can reach and its sessions. Nothing here locks, waits or checks a call.
// A session outlives the registration of its portal.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/simulator/state.h"

namespace csi_proxy::machine::simulated {

struct ChapCredentials {
  ChapMode mode = ChapMode::kNone;
  std::string username;
  Secret secret;
};

// `address:port`, the resource a fault rule names.
std::string PortalText(const IscsiPortal& portal);

absl::Status AddPortal(NodeState& state, const IscsiPortal& portal,
                       const ChapCredentials& credentials = {});
absl::Status RemovePortal(NodeState& state, const IscsiPortal& portal);
absl::StatusOr<std::vector<std::string>> DiscoverTargets(NodeState& state,
                                                         const IscsiPortal& portal);

// The target a portal offers; NOT_FOUND.
absl::StatusOr<IscsiTarget*> FindTarget(NodeState& state, const IscsiPortal& portal,
                                        const std::string& iqn);
// Returns all targets of a name, in the order of the portals.
std::vector<IscsiTarget*> TargetsNamed(NodeState& state, const std::string& iqn);
// Returns the paths to one target, in the order of the portals: the first has its disks.
std::vector<IscsiTarget*> PathsTo(NodeState& state, const IscsiTarget& target);
// Returns true if the target has a session whose portal answers. Windows keeps a session whose
// portal has gone, and removes its disks
// (learn.microsoft.com/archive/blogs/san/microsoft-iscsi-software-initiator-and-isns-server-timers-quick-reference,
// LinkDownTime).
bool IsLive(const NodeState& state, const IscsiTarget& target);
// Tells whether Windows sees the disks that this entry has.
bool ShowsDisks(NodeState& state, const IscsiTarget& target);
// The disks that the session of this entry shows.
const std::vector<Disk>& DisksBy(NodeState& state, const IscsiTarget& target);

// ALREADY_EXISTS when the portal has a session with the target, and, unless `multipath`, when any
// has (learn.microsoft.com/windows/win32/api/vds/ne-vds-vds_iscsi_login_flag).
absl::Status Connect(NodeState& state, const IscsiPortal& portal, const std::string& iqn,
                     const ChapCredentials& credentials, bool multipath);
absl::Status Disconnect(NodeState& state, IscsiTarget* target);
// The sessions of a node that has started again: those with a persistent login, if the portal
// answers (learn.microsoft.com/powershell/module/iscsi/register-iscsisession).
void RestartSessions(NodeState& state);
// INVALID_ARGUMENT unless it has 12 to 16 bytes.
absl::Status SetMutualChapSecret(NodeState& state, const Secret& secret);

}  // namespace csi_proxy::machine::simulated
