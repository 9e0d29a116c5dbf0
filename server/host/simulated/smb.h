// The file servers a simulated node can reach, and its global mappings of their shares.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "server/host/simulated/state.h"

namespace csi_proxy::host::simulated {

// Null when there is no such server; names compare without case.
SmbServer* FindServer(NodeState& state, absl::string_view name);
SmbShare* FindShare(SmbServer& server, absl::string_view name);

// Null when the share is not mapped. `share` is UncPath::Share().
SmbMappingState* FindMapping(NodeState& state, absl::string_view share);

// The share when the node can read it: mapped, the credentials still hold, the server answers.
SmbShare* FindReadableShare(NodeState& state, const std::string& share);

}  // namespace csi_proxy::host::simulated
