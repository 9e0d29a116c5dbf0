// The SMB servers a node knows and its global mappings. Nothing here locks, waits or checks a
// call. `share` is `\\host\share` in any case.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/simulator/state.h"

namespace csi_proxy::machine::simulated {

// Null when there is none of that name.
SmbServer* FindServer(NodeState& state, absl::string_view name);
SmbShare* FindShare(NodeState& state, absl::string_view share);
// The share when the node can read it now: a mapping of it is healthy.
SmbShare* FindReadableShare(NodeState& state, absl::string_view share);
// Returns true if all below the share is "access denied".
bool IsDenied(NodeState& state, absl::string_view share);

struct SmbCredentials {
  std::string username;
  Secret password;
};

// Returns whether Windows shows a mapping as OK, which does not tell that the share can be read.
bool ShowsAsOk(NodeState& state, const SmbMappingState& mapping);
// ALREADY_EXISTS when the share is mapped; NOT_FOUND when server or share do not exist;
// FAILED_PRECONDITION when the server refuses the credentials, when a mapping of the server has
// those of another user, an earlier password or saved ones, or when the server cannot encrypt and
// is to.
absl::Status CreateMapping(NodeState& state, absl::string_view share,
                           const SmbCredentials& credentials, bool require_privacy,
                           bool persistent);
// NOT_FOUND when the share is not mapped to the drive letter, or without one if that is empty.
absl::Status RemoveMapping(NodeState& state, absl::string_view share, absl::string_view local_path);

// Adds a user or changes the password, which breaks the mappings made with the old one. NOT_FOUND
// when there is no such server.
absl::Status ChangePassword(NodeState& state, absl::string_view server, absl::string_view user,
                            const Secret& password);
// NOT_FOUND when the share is not mapped.
absl::Status BreakMapping(NodeState& state, absl::string_view share);

}  // namespace csi_proxy::machine::simulated
