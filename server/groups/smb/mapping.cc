#include "server/groups/smb/mapping.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/base/status_macros.h"
#include "server/groups/paths.h"

namespace csi_proxy::smb {
namespace {

// `domain\user` or `user@domain`, of 256 characters at most each, and a password of at most 256
// UTF-16 units: learn.microsoft.com/windows/win32/api/lmcons (UNLEN, DNLEN, PWLEN).
constexpr size_t kMaxUsername = 512;
constexpr size_t kMaxPassword = 1024;

}  // namespace

absl::Status CheckCredentials(const std::string& username, const std::string& password) {
  ABSL_RETURN_IF_ERROR(groups::CheckText("username", username, kMaxUsername));
  return groups::CheckText("password", password, kMaxPassword, true);
}

absl::StatusOr<Found> FindMapping(const groups::Deps& deps, const CallContext& context,
                                  const std::string& share,
                                  const host::SmbCredentials& credentials) {
  host::SmbHost& host = deps.host->smb();
  ABSL_ASSIGN_OR_RETURN(const auto mapping, host.GetMapping(context, share));
  if (!mapping.has_value()) return Found::kNone;
  ABSL_ASSIGN_OR_RETURN(bool usable, host.IsHealthy(context, *mapping));
  if (usable && deps.bind_smb_credentials) {
    const std::optional<bool> match = deps.shares->Match(share, credentials);
    if (match == false) {
      return absl::PermissionDeniedError(
          absl::StrCat("username, password: ", share,
                       " is mapped with other credentials (csi-proxyctl "
                       "storage list-smb-mappings shows the links that lead there)"));
    }
    // Nobody knows the owner of a mapping from before the start. Mapping it anew lets the server
    // check the caller's credentials.
    usable = match.has_value();
  }
  if (usable) return Found::kUsable;
  // It does not work, for example after a change of password. The credentials of a mapping cannot
  // be changed in place.
  deps.shares->Forget(share);
  if (absl::Status s = host.RemoveMapping(context, *mapping); !s.ok() && !absl::IsNotFound(s)) {
    return s;
  }
  return Found::kRemoved;
}

absl::Status Map(const groups::Deps& deps, const CallContext& context, const std::string& share,
                 const host::SmbCredentials& credentials) {
  ABSL_RETURN_IF_ERROR(
      deps.host->smb().CreateMapping(context, share, credentials, deps.require_privacy));
  if (deps.bind_smb_credentials) deps.shares->Keep(share, credentials);
  return absl::OkStatus();
}

absl::StatusOr<bool> Unmap(const groups::Deps& deps, const CallContext& context,
                           const std::string& share) {
  deps.shares->Forget(share);
  ABSL_ASSIGN_OR_RETURN(const auto mapping, deps.host->smb().GetMapping(context, share));
  if (!mapping.has_value()) return false;
  ABSL_RETURN_IF_ERROR(deps.host->smb().RemoveMapping(context, *mapping));
  return true;
}

bool IsTarget(const std::string& target, const UncPath& remote) {
  return EqualNames(absl::StripSuffix(target, "\\"), remote.ToString());
}

absl::StatusOr<ShareLinks> FindLinks(const groups::Deps& deps, const CallContext& context,
                                     absl::FunctionRef<bool(const UncPath&)> is_meant) {
  ABSL_ASSIGN_OR_RETURN(auto found,
                        deps.host->filesystem().ListLinks(context, groups::AllRoots(deps.roots)));
  ShareLinks links;
  links.incomplete = found.incomplete_outside_pods;
  for (host::FoundLink& link : found.links) {
    const absl::StatusOr<UncPath> target = UncPath::Parse("target", link.target);
    if (target.ok() && is_meant(*target)) links.paths.push_back(std::move(link.path));
  }
  return links;
}

}  // namespace csi_proxy::smb
