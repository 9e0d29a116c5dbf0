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

absl::Status AddPortal(NodeState& state, const IscsiPortal& portal);
absl::Status RemovePortal(NodeState& state, const IscsiPortal& portal);
absl::StatusOr<std::vector<std::string>> DiscoverTargets(NodeState& state,
                                                         const IscsiPortal& portal);

// The target a portal offers; NOT_FOUND.
absl::StatusOr<IscsiTarget*> FindTarget(NodeState& state, const IscsiPortal& portal,
                                        const std::string& iqn);
absl::Status Connect(NodeState& state, const IscsiPortal& portal, const std::string& iqn,
                     const ChapCredentials& credentials);
absl::Status Disconnect(NodeState& state, const IscsiPortal& portal, const std::string& iqn);
// INVALID_ARGUMENT unless it has 12 to 16 bytes.
absl::Status SetMutualChapSecret(NodeState& state, const Secret& secret);

}  // namespace csi_proxy::machine::simulated
