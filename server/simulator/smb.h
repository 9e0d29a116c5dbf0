// The SMB servers that a node knows, and its global mappings. `share` is `\\host\share`, whose
// letter case does not matter. Callers must hold the lock of Core, and must have checked the
// arguments.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/simulator/state.h"

namespace csi_proxy::machine::simulator {

// Returns the server of that name, or null.
SmbServer* FindServer(NodeState& state, absl::string_view name);
SmbShare* FindShare(NodeState& state, absl::string_view share);
// Returns the share if the node can read it through a mapping now, else null.
SmbShare* FindReadableShare(NodeState& state, absl::string_view share);
// Returns true if Windows denies access to everything in the share.
bool IsDenied(NodeState& state, absl::string_view share);

struct SmbCredentials {
  std::string username;
  Secret password;
};

// Returns true if Windows shows a mapping as OK. Its share may be unreadable all the same.
bool ShowsAsOk(NodeState& state, const SmbMappingState& mapping);
// Maps a share. Returns ALREADY_EXISTS if it is mapped without a drive letter; NOT_FOUND if the
// server or the share does not exist; INTERNAL if the server is unreachable. Returns
// FAILED_PRECONDITION if the server refuses the credentials, or if it must encrypt and cannot, or
// if another mapping of the server has another user, is broken or was restored at a restart.
absl::Status CreateMapping(NodeState& state, absl::string_view share,
                           const SmbCredentials& credentials, bool require_privacy,
                           bool persistent);
// Removes the share's mapping with this drive letter, or without a letter if `local_path` is empty.
// Returns NOT_FOUND if there is no such mapping.
absl::Status RemoveMapping(NodeState& state, absl::string_view share, absl::string_view local_path);

// Adds a user, or changes the password and so breaks the mappings with the old password. Returns
// NOT_FOUND for an unknown server.
absl::Status ChangePassword(NodeState& state, absl::string_view server, absl::string_view user,
                            const Secret& password);
// Breaks the share's mapping that has no drive letter. Returns NOT_FOUND if there is none.
absl::Status BreakMapping(NodeState& state, absl::string_view share);

}  // namespace csi_proxy::machine::simulator
