#include "server/groups/smb/mapping.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "server/base/status_macros.h"
#include "server/groups/fields.h"
#include "server/groups/locks.h"
#include "server/groups/smb/local_shares.h"
#include "server/host/mount_point.h"
#include "server/names/refusals.h"
#include "server/names/win32_error.h"

namespace csi_proxy::smb {
namespace {

// The limits, in bytes, of a user name (`domain\user` or `user@domain`) and of a password. Windows
// limits user and password to 256 UTF-16 units each: learn.microsoft.com/windows/win32/api/lmcons
// (UNLEN, PWLEN).
constexpr size_t kMaxUsername = 512;
constexpr size_t kMaxPassword = 1024;

// The length of the longest IPv6 address with its brackets.
constexpr size_t kLongestIpv6 = 41;
// The maximum number of a share's folders that IsWorking() opens.
constexpr size_t kMostFolders = 8;

// Returns true unless the mapping of a path's share is broken. Sets `access` to the server's answer
// for the path. See KnownShares::WasDenied() for `user`.
absl::StatusOr<bool> IsWorking(const groups::HandlerDeps& deps, const CallContext& context,
                               const UncPath& remote, const std::string* user,
                               host::SmbAccess* access) {
  using Kind = host::SmbAccess::Kind;
  host::SmbHost& host = deps.host->smb();
  const auto is_usable = [](Kind kind) {
    return kind != Kind::kDenied && kind != Kind::kNotReached;
  };
  ABSL_ASSIGN_OR_RETURN(*access, host.Reach(context, remote));
  if (is_usable(access->kind)) return true;
  // Does not try the share's root if the error concerns the whole share, because a second request
  // to a server that does not answer would take long.
  const uint32_t error = Win32CodeOf(access->error).value_or(0);
  const bool is_of_share = FindRefusal(Refuser::kMapping, error) != nullptr;
  if (access->kind == Kind::kNotReached && is_of_share) return false;
  const std::string share = remote.Share();
  Kind of_share = access->kind;
  if (!remote.components().empty()) {
    ABSL_ASSIGN_OR_RETURN(const UncPath root, UncPath::Parse("share", share));
    ABSL_ASSIGN_OR_RETURN(const auto root_access, host.Reach(context, root));
    of_share = root_access.kind;
  }
  if (of_share != Kind::kDenied) return is_usable(of_share);
  if (deps.shares->WasDenied(remote, user)) return true;
  // Tries the folders that links lead to, but not the root, which the server denies. Limits the
  // folders instead of the links, so that many links to one folder do not hide the other folders.
  std::map<std::string, UncPath> folders;
  ABSL_ASSIGN_OR_RETURN(const auto links, FindLinks(deps, context, [&](const UncPath& target) {
                          if (target.Share() != share) return false;
                          if (!target.components().empty() && folders.size() <= kMostFolders) {
                            folders.emplace(CanonicalUnc(target.ToString()), target);
                          }
                          return true;
                        }));
  if (links.incomplete || folders.size() > kMostFolders) return true;
  for (const auto& [name, folder] : folders) {
    ABSL_ASSIGN_OR_RETURN(const auto by_link, host.Reach(context, folder));
    if (is_usable(by_link.kind)) return true;
  }
  return false;
}

// Removes the mapping of a share. Calls KnownShares::Forget() afterwards, and also if the call ends
// early, because Windows may remove the mapping later and another program may map the share with a
// new password. Does not call it if Windows refuses, because other calls may use the mapping.
absl::Status Remove(const groups::HandlerDeps& deps, const CallContext& context,
                    const std::string& share, const host::SmbMapping& mapping) {
  absl::Status removed = deps.host->smb().RemoveMapping(context, mapping);
  if (removed.ok() || absl::IsNotFound(removed) || !context.Check().ok()) {
    deps.shares->Forget(share);
  }
  return removed;
}

bool RefusesUser(const host::SmbAccess& access) {
  if (access.kind == host::SmbAccess::Kind::kDenied) return true;
  const Refusal* const refusal =
      FindRefusal(Refuser::kMapping, Win32CodeOf(access.error).value_or(0));
  return refusal != nullptr && refusal->code == absl::StatusCode::kFailedPrecondition;
}

// Removes broken mappings of the server's other shares. Skips a mapping of a folder or with a drive
// letter, a mapping whose share is locked, and a mapping whose links may work again. Returns true
// if it removed a mapping.
absl::StatusOr<bool> RemoveDeadMappings(const groups::HandlerDeps& deps, const CallContext& context,
                                        const std::string& share) {
  ABSL_ASSIGN_OR_RETURN(const auto mappings, deps.host->smb().ListMappings(context));
  ABSL_ASSIGN_OR_RETURN(const UncPath own, UncPath::Parse("share", share));
  bool removed = false;
  for (const host::SmbMapping& mapping : mappings) {
    const std::string& other = mapping.remote_path;
    const absl::StatusOr<UncPath> path = UncPath::Parse("share", other);
    if (other == share || !path.ok() || path->host() != own.host()) continue;
    if (!path->components().empty() || !mapping.local_path.empty()) continue;
    // Takes the other share's lock only if it is free, because the caller holds a share's lock.
    const auto lock =
        groups::LockShare(*deps.locks, context.WithTimeout(absl::ZeroDuration()), path->Share());
    ABSL_RETURN_IF_ERROR(context.Check());
    if (!lock.ok()) continue;
    host::SmbAccess access;
    ABSL_ASSIGN_OR_RETURN(const bool works, IsWorking(deps, context, *path, nullptr, &access));
    if (works) continue;
    ABSL_ASSIGN_OR_RETURN(const auto links, FindLinks(deps, context, [&](const UncPath& target) {
                            return target.Share() == other;
                          }));
    // A share or server may answer again later, so its links keep their mapping.
    const bool has_links = links.incomplete || !links.paths.empty();
    if (has_links && !RefusesUser(access)) continue;
    if (!Remove(deps, context, other, mapping).ok()) continue;
    removed = true;
    deps.shares->RecordRemoval(other, RemovalOutcome::kRemoved, links);
  }
  return removed;
}

}  // namespace

absl::StatusOr<UncPath> ParseRemotePath(absl::string_view text) {
  const auto refuse = [](const auto&... why) {
    return absl::InvalidArgumentError(absl::StrCat("remote_path: ", why...));
  };
  const size_t begin = text.find_first_not_of("/\\");
  const size_t end = std::min(text.find_first_of("/\\", begin), text.size());
  if (begin == 2 && text[2] != '?' && text[2] != '.') {
    const absl::string_view host = text.substr(2, end - 2);
    // Windows would use WebDAV for this host
    // (learn.microsoft.com/windows/win32/api/davclnt/nf-davclnt-davgethttpfromuncpath).
    if (absl::StrContains(host, '@')) {
      return refuse("the host contains \"@\", with which Windows would use WebDAV");
    }
    // The host of a UNC path: learn.microsoft.com/openspecs/windows_protocols/ms-dtyp (UNC)
    const bool is_address =
        host.find_first_not_of("0123456789abcdefABCDEF:[]") == absl::string_view::npos &&
        host.size() <= kLongestIpv6 && std::count(host.begin(), host.end(), ':') > 1;
    if (is_address) {
      return refuse("an IPv6 address is written as ",
                    absl::StrReplaceAll(host, {{"[", ""}, {"]", ""}, {":", "-"}}),
                    ".ipv6-literal.net");
    }
    // Windows would parse the text before the next backslash as a provider's name.
    if (absl::StrContains(host, ';')) return refuse("the host contains \";\"");
    if (absl::StrContains(host, ':')) {
      return refuse("the host contains a port: leave it out, Windows always uses TCP port 445");
    }
  }
  return UncPath::Parse("remote_path", text);
}

absl::StatusOr<UncPath> ParsePathToMap(const groups::HandlerDeps& deps, absl::string_view text) {
  ABSL_ASSIGN_OR_RETURN(UncPath remote, ParseRemotePath(text));
  // Without credentials Windows may sign in as the service, which may read every file of such a
  // share.
  if (IsAdministrativeShare(remote.share())) {
    return absl::PermissionDeniedError(
        absl::StrCat("remote_path: ", remote.share(),
                     " is an administrative share: share the folder under another name"));
  }
  if (deps.allow_local_shares) return remote;
  ABSL_ASSIGN_OR_RETURN(const auto node, deps.host->smb().GetNetworkNames());
  if (MayBeThisNode(remote.host(), node)) {
    return absl::PermissionDeniedError(absl::StrCat(
        "remote_path: the host is or may be this node: name another server, by DNS name or plain "
        "address",
        deps.local_shares_remedy));
  }
  return remote;
}

absl::Status CheckCredentials(const std::string& username, const std::string& password) {
  if (username.empty() && password.empty()) return absl::OkStatus();
  ABSL_RETURN_IF_ERROR(groups::CheckText("username", username, kMaxUsername));
  return groups::CheckText("password", password, kMaxPassword, true);
}

absl::StatusOr<LookupResult> FindMapping(const groups::HandlerDeps& deps,
                                         const CallContext& context, const UncPath& remote,
                                         const host::SmbCredentials& credentials,
                                         host::SmbAccess* access) {
  const std::string share = remote.Share();
  host::SmbHost& host = deps.host->smb();
  ABSL_RETURN_IF_ERROR(host.AwaitRemoval(context, share));
  ABSL_RETURN_IF_ERROR(host.AwaitCreation(context, share));
  ABSL_ASSIGN_OR_RETURN(const auto mapping, host.GetMapping(context, share));
  if (!mapping.has_value()) {
    // Another process may map the share with other credentials later, or Windows may do so for a
    // call that has ended.
    deps.shares->Forget(share);
    return LookupResult::kNone;
  }
  // With bound credentials, a call with other credentials must not make the mapping look broken.
  const std::string* const user = deps.bind_smb_credentials ? nullptr : &credentials.username;
  ABSL_ASSIGN_OR_RETURN(bool usable, IsWorking(deps, context, remote, user, access));
  if (usable && deps.bind_smb_credentials) {
    const std::optional<bool> match = deps.shares->Match(share, credentials);
    if (match == false) {
      return absl::PermissionDeniedError(
          absl::StrCat("username, password: ", share,
                       " is mapped with other credentials (csi-proxyctl "
                       "storage list-smb-mappings shows the links that lead there)"));
    }
    // Another process made the mapping, so its credentials are unknown. A new mapping makes the
    // server check the caller's credentials.
    usable = match.has_value();
  }
  if (usable) return LookupResult::kUsable;
  // The mapping is broken, for example after a change of password, and Windows cannot change the
  // credentials of a mapping in place.
  if (absl::Status s = Remove(deps, context, share, *mapping); !s.ok() && !absl::IsNotFound(s))
    return s;
  return LookupResult::kRemoved;
}

absl::Status Map(const groups::HandlerDeps& deps, const CallContext& context, const UncPath& remote,
                 const host::SmbCredentials& credentials, host::SmbAccess* access) {
  const std::string share = remote.Share();
  host::SmbHost& host = deps.host->smb();
  const auto create = [&] {
    return host.CreateMapping(context, share, credentials, deps.require_privacy);
  };
  absl::Status mapped = create();
  if (HasWin32Code(mapped, win32_error::kSessionCredentialConflict)) {
    ABSL_ASSIGN_OR_RETURN(const bool removed, RemoveDeadMappings(deps, context, share));
    if (removed) mapped = create();
  }
  if (!mapped.ok()) return mapped;
  if (deps.bind_smb_credentials) deps.shares->Keep(share, credentials);
  ABSL_ASSIGN_OR_RETURN(*access, host.Reach(context, remote));
  if (access->kind == host::SmbAccess::Kind::kDenied) {
    deps.shares->NoteDenied(remote, credentials.username);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<host::SmbMapping>> FindMappingToRemove(const groups::HandlerDeps& deps,
                                                                    const CallContext& context,
                                                                    const std::string& share) {
  host::SmbHost& host = deps.host->smb();
  const absl::Status awaited = host.AwaitCreation(host::TeardownStep(context), share);
  ABSL_ASSIGN_OR_RETURN(auto mapping, host.GetMapping(context, share));
  if (!mapping.has_value()) {
    ABSL_RETURN_IF_ERROR(awaited);
  }
  return mapping;
}

absl::StatusOr<bool> Unmap(const groups::HandlerDeps& deps, const CallContext& context,
                           const std::string& share) {
  ABSL_ASSIGN_OR_RETURN(const auto mapping, FindMappingToRemove(deps, context, share));
  if (!mapping.has_value()) {
    deps.shares->Forget(share);
    return false;
  }
  ABSL_RETURN_IF_ERROR(Remove(deps, context, share, *mapping));
  return true;
}

bool IsTarget(const std::string& target, const UncPath& remote) {
  return EqualNames(absl::StripSuffix(target, "\\"), remote.ToString());
}

absl::StatusOr<ShareLinks> FindLinks(const groups::HandlerDeps& deps, const CallContext& context,
                                     absl::FunctionRef<bool(const UncPath&)> is_meant) {
  ABSL_ASSIGN_OR_RETURN(auto found, deps.host->filesystem().ListLinks(
                                        context, groups::AllRoots(deps.roots), {.follow = false}));
  ShareLinks links;
  links.incomplete = found.incomplete_outside_pods;
  for (host::FoundLink& link : found.links) {
    const absl::StatusOr<UncPath> target = UncPath::Parse("target", link.target);
    if (target.ok() && is_meant(*target)) links.paths.push_back(std::move(link.path));
  }
  return links;
}

}  // namespace csi_proxy::smb
