// The SMB servers a node knows and its global mappings. Nothing here locks, waits or checks a
// call. The contracts are those of SmbHost; `share` is `\\host\share` in any case.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/machine/simulated/state.h"
#include "server/host/smb_host.h"

namespace csi_proxy::machine::simulated {

// Null when there is none of that name.
SmbServer* FindServer(NodeState& state, absl::string_view name);
SmbShare* FindShare(NodeState& state, absl::string_view share);
// The share when the node can read it now: its mapping is healthy.
SmbShare* FindReadableShare(NodeState& state, absl::string_view share);

std::optional<SmbMapping> GetMapping(NodeState& state, absl::string_view share);
absl::Status CreateMapping(NodeState& state, absl::string_view share,
                           const SmbCredentials& credentials, bool require_privacy);
absl::Status RemoveMapping(NodeState& state, absl::string_view share);

// Adds a user or changes the password, which breaks the mappings made with the old one. NOT_FOUND
// when there is no such server.
absl::Status ChangePassword(NodeState& state, absl::string_view server, absl::string_view user,
                            const Secret& password);
// NOT_FOUND when the share is not mapped.
absl::Status BreakMapping(NodeState& state, absl::string_view share);

}  // namespace csi_proxy::machine::simulated
