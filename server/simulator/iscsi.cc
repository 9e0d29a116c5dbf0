#include "server/simulator/iscsi.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"

namespace csi_proxy::machine::simulated {
namespace {

// These errors are from the Microsoft initiator's own range.
const WindowsError kConnectionFailed = {0xefff0003, "nothing answers there."};
const WindowsError kAuthenticationFailed = {0xefff0009, "Authentication failed."};

constexpr size_t kMinChapSecret = 12;
constexpr size_t kMaxChapSecret = 16;

IscsiPortalState* FindPortal(NodeState& state, const IscsiPortal& portal) {
  for (IscsiPortalState& candidate : state.iscsi_portals) {
    if (candidate.portal.port == portal.port &&
        absl::EqualsIgnoreCase(candidate.portal.address, portal.address)) {
      return &candidate;
    }
  }
  return nullptr;
}

// UNAVAILABLE unless somebody answers at the portal.
absl::Status CheckAnswers(const IscsiPortalState* portal, absl::string_view operation) {
  if (portal != nullptr && portal->reachable) return absl::OkStatus();
  return Failure(operation, kConnectionFailed, absl::StatusCode::kUnavailable);
}

absl::StatusOr<IscsiPortalState*> FindRegistered(NodeState& state, const IscsiPortal& portal) {
  IscsiPortalState* found = FindPortal(state, portal);
  if (found != nullptr && found->registered) return found;
  return absl::NotFoundError(
      absl::StrCat("the target portal ", PortalText(portal), " is not registered"));
}

bool Authenticates(const IscsiTarget& target, const ChapCredentials& credentials,
                   const Secret& initiator_secret) {
  if (target.chap == ChapMode::kMutual && credentials.mode != ChapMode::kMutual) return false;
  if (target.chap != ChapMode::kNone) {
    if (credentials.mode == ChapMode::kNone || credentials.username != target.username ||
        credentials.secret != target.secret) {
      return false;
    }
  }
  // An initiator that asks the target to prove itself accepts no target that cannot.
  return credentials.mode != ChapMode::kMutual ||
         (!target.mutual_secret.empty() && target.mutual_secret == initiator_secret);
}

}  // namespace

std::string PortalText(const IscsiPortal& portal) {
  return absl::StrCat(portal.address, ":", portal.port);
}

absl::Status AddPortal(NodeState& state, const IscsiPortal& portal) {
  IscsiPortalState* found = FindPortal(state, portal);
  if (found != nullptr && found->registered) {
    return absl::AlreadyExistsError(
        absl::StrCat("the target portal ", PortalText(portal), " is registered"));
  }
  const absl::Status answers =
      CheckAnswers(found, absl::StrCat("adding target portal ", PortalText(portal)));
  if (answers.ok()) found->registered = true;
  return answers;
}

absl::Status RemovePortal(NodeState& state, const IscsiPortal& portal) {
  const absl::StatusOr<IscsiPortalState*> found = FindRegistered(state, portal);
  if (found.ok()) (*found)->registered = false;
  return found.status();
}

absl::StatusOr<std::vector<std::string>> DiscoverTargets(NodeState& state,
                                                         const IscsiPortal& portal) {
  ABSL_ASSIGN_OR_RETURN(IscsiPortalState* const found, FindRegistered(state, portal));
  const absl::Status answers =
      CheckAnswers(found, absl::StrCat("asking target portal ", PortalText(portal)));
  if (!answers.ok()) return answers;
  std::vector<std::string> iqns;
  for (const IscsiTarget& target : found->targets) iqns.push_back(target.iqn);
  return iqns;
}

absl::StatusOr<IscsiTarget*> FindTarget(NodeState& state, const IscsiPortal& portal,
                                        const std::string& iqn) {
  if (IscsiPortalState* found = FindPortal(state, portal); found != nullptr) {
    for (IscsiTarget& target : found->targets) {
      if (!absl::EqualsIgnoreCase(target.iqn, iqn)) continue;
      if (found->registered || target.connected) return &target;
    }
  }
  return absl::NotFoundError(absl::StrCat("target portal ", PortalText(portal),
                                          " is not registered or offers no target ", iqn));
}

absl::Status Connect(NodeState& state, const IscsiPortal& portal, const std::string& iqn,
                     const ChapCredentials& credentials) {
  const std::string operation = absl::StrCat("connecting target ", iqn);
  ABSL_ASSIGN_OR_RETURN(IscsiTarget* const target, FindTarget(state, portal, iqn));
  if (target->connected) {
    return absl::AlreadyExistsError(absl::StrCat("target ", iqn, " is connected"));
  }
  const absl::Status answers = CheckAnswers(FindPortal(state, portal), operation);
  if (!answers.ok()) return answers;
  if (!Authenticates(*target, credentials, state.iscsi_mutual_chap_secret)) {
    return Failure(operation, kAuthenticationFailed, absl::StatusCode::kFailedPrecondition);
  }
  target->connected = true;
  return absl::OkStatus();
}

absl::Status Disconnect(NodeState& state, const IscsiPortal& portal, const std::string& iqn) {
  ABSL_ASSIGN_OR_RETURN(IscsiTarget* const target, FindTarget(state, portal, iqn));
  if (!target->connected) {
    return absl::NotFoundError(absl::StrCat("target ", iqn, " is not connected"));
  }
  target->connected = false;
  return absl::OkStatus();
}

absl::Status SetMutualChapSecret(NodeState& state, const Secret& secret) {
  if (secret.size() < kMinChapSecret || secret.size() > kMaxChapSecret) {
    return absl::InvalidArgumentError("the mutual CHAP secret must have 12 to 16 bytes");
  }
  state.iscsi_mutual_chap_secret = secret;
  return absl::OkStatus();
}

}  // namespace csi_proxy::machine::simulated
