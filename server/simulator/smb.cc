#include "server/simulator/smb.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/names/win32_error.h"
#include "server/names/windows_path.h"

namespace csi_proxy::machine::simulator {
namespace {

// Splits `\\host\share` into its two names.
std::pair<absl::string_view, absl::string_view> SplitShare(absl::string_view share) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(absl::StripPrefix(share, "\\\\"), absl::MaxSplits('\\', 1));
  return parts;
}

SmbMappingState* FindMapping(NodeState& state, absl::string_view share,
                             absl::string_view local_path = "") {
  for (SmbMappingState& mapping : state.smb_mappings) {
    if (EqualNames(mapping.remote_path, share) && mapping.local_path == local_path) return &mapping;
  }
  return nullptr;
}

SmbUser* FindUser(SmbServer& server, absl::string_view name) {
  for (SmbUser& user : server.users) {
    if (EqualNames(user.name, name)) return &user;
  }
  return nullptr;
}

bool IsHealthy(NodeState& state, const SmbMappingState& mapping) {
  SmbServer* server = FindServer(state, SplitShare(mapping.remote_path).first);
  return server != nullptr && server->reachable && !mapping.broken &&
         FindShare(state, mapping.remote_path) != nullptr;
}

}  // namespace

SmbServer* FindServer(NodeState& state, absl::string_view name) {
  for (SmbServer& server : state.smb_servers) {
    if (EqualNames(server.name, name)) return &server;
  }
  return nullptr;
}

SmbShare* FindShare(NodeState& state, absl::string_view share) {
  const auto [host, name] = SplitShare(share);
  SmbServer* server = FindServer(state, host);
  if (server == nullptr) return nullptr;
  for (SmbShare& candidate : server->shares) {
    if (EqualNames(candidate.name, name)) return &candidate;
  }
  return nullptr;
}

SmbShare* FindReadableShare(NodeState& state, absl::string_view share) {
  for (const SmbMappingState& mapping : state.smb_mappings) {
    if (!EqualNames(mapping.remote_path, share)) continue;
    if (IsHealthy(state, mapping) && !mapping.denied) return FindShare(state, share);
  }
  return nullptr;
}

bool IsDenied(NodeState& state, absl::string_view share) {
  const SmbMappingState* const mapping = FindMapping(state, share);
  return mapping != nullptr && mapping->denied && IsHealthy(state, *mapping);
}

bool ShowsAsOk(NodeState& state, const SmbMappingState& mapping) {
  const SmbServer* server = FindServer(state, SplitShare(mapping.remote_path).first);
  return server != nullptr && server->reachable && !mapping.idle;
}

absl::Status CreateMapping(NodeState& state, absl::string_view share,
                           const SmbCredentials& credentials, bool require_privacy,
                           bool persistent) {
  const std::string operation = absl::StrCat("mapping ", share);
  if (FindMapping(state, share) != nullptr) {
    return absl::AlreadyExistsError(absl::StrCat(share, " is mapped"));
  }
  SmbServer* server = FindServer(state, SplitShare(share).first);
  if (server == nullptr)
    return Failure(operation, win32_error::kBadNetPath, absl::StatusCode::kNotFound);
  if (!server->reachable) return Failure(operation, win32_error::kBadNetPath);
  if (FindShare(state, share) == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("server ", server->name, " has no share ", SplitShare(share).second));
  }
  // Windows refuses a second user of a server, and any user beside a broken or restored mapping
  // (github.com/kubernetes-csi/csi-driver-smb/issues/219).
  for (const SmbMappingState& other : state.smb_mappings) {
    if (EqualNames(SplitShare(other.remote_path).first, server->name) &&
        (!EqualNames(other.username, credentials.username) || other.broken || other.restored)) {
      return Failure(operation, win32_error::kSessionCredentialConflict,
                     absl::StatusCode::kFailedPrecondition);
    }
  }
  const SmbUser* user = FindUser(*server, credentials.username);
  const bool is_anonymous = credentials.username.empty() && server->anonymous;
  if (!is_anonymous && (user == nullptr || user->password != credentials.password)) {
    return Failure(operation, win32_error::kLogonFailure, absl::StatusCode::kFailedPrecondition);
  }
  if (require_privacy && !server->supports_privacy) {
    // Windows fails with this error (github.com/kubernetes-csi/csi-driver-smb/issues/655).
    return Failure(operation, win32_error::kNetworkAccessDenied,
                   absl::StatusCode::kFailedPrecondition);
  }
  SmbMappingState& made = state.smb_mappings.emplace_back();
  made.remote_path = absl::AsciiStrToLower(share);
  if (user != nullptr) made.username = user->name;
  made.persistent = persistent;
  return absl::OkStatus();
}

absl::Status RemoveMapping(NodeState& state, absl::string_view share,
                           absl::string_view local_path) {
  const SmbMappingState* mapping = FindMapping(state, share, local_path);
  if (mapping == nullptr) return absl::NotFoundError(absl::StrCat(share, " is not mapped"));
  state.smb_mappings.erase(state.smb_mappings.begin() + (mapping - state.smb_mappings.data()));
  return absl::OkStatus();
}

absl::Status ChangePassword(NodeState& state, absl::string_view server_name,
                            absl::string_view user_name, const Secret& password) {
  SmbServer* server = FindServer(state, server_name);
  if (server == nullptr) {
    return absl::NotFoundError(absl::StrCat("there is no SMB server '", server_name, "'"));
  }
  SmbUser* user = FindUser(*server, user_name);
  if (user == nullptr) {
    server->users.push_back({std::string(user_name), password});
    return absl::OkStatus();
  }
  if (user->password == password) return absl::OkStatus();
  user->password = password;
  for (SmbMappingState& mapping : state.smb_mappings) {
    if (EqualNames(SplitShare(mapping.remote_path).first, server->name) &&
        EqualNames(mapping.username, user->name)) {
      mapping.broken = true;
    }
  }
  return absl::OkStatus();
}

absl::Status BreakMapping(NodeState& state, absl::string_view share) {
  SmbMappingState* mapping = FindMapping(state, share);
  if (mapping == nullptr) return absl::NotFoundError(absl::StrCat(share, " is not mapped"));
  mapping->broken = true;
  return absl::OkStatus();
}

}  // namespace csi_proxy::machine::simulator
