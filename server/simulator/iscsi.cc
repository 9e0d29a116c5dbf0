#include "server/simulator/iscsi.h"

#include <algorithm>
#include <functional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/names/windows_path.h"
#include "server/simulator/storage.h"

namespace csi_proxy::machine::simulator {
namespace {

// Errors from the range of the Microsoft initiator.
const WindowsError kConnectionFailed = {0xefff0003, "nothing answers there."};
const WindowsError kAuthenticationFailed = {0xefff0009, "Authentication failed."};

// A value of OfflineReason of MSFT_Disk.
constexpr uint16_t kRedundantPath = 2;

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

// Returns UNAVAILABLE unless the portal answers.
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
  // With mutual CHAP, the initiator must not accept a target that cannot authenticate itself.
  return credentials.mode != ChapMode::kMutual ||
         (!target.mutual_secret.empty() && target.mutual_secret == initiator_secret);
}

uint32_t FreeDiskNumber(NodeState& state) {
  std::set<uint32_t> taken;
  for (const Disk* disk : AllDisks(state)) taken.insert(disk->number);
  uint32_t number = 0;
  while (taken.contains(number)) ++number;
  return number;
}

// Returns the disks that a further session adds to a node without MPIO: offline copies of the
// target's disks with the same identity.
std::vector<Disk> SecondPathDisks(NodeState& state, std::vector<Disk>& originals) {
  std::vector<Disk> disks;
  uint32_t number = FreeDiskNumber(state);
  for (Disk& original : originals) {
    if (original.facts.disk_id.empty() && original.style != PartitionStyle::kRaw) {
      original.facts.disk_id = MakeDiskId(state, original);
    }
    Disk& disk = disks.emplace_back(original);
    disk.number = number++;
    disk.online = false;
    disk.facts.offline_reason = kRedundantPath;
    for (DiskPartition& partition : disk.partitions) {
      if (partition.volume.has_value()) partition.volume->drive_letter = 0;
    }
  }
  return disks;
}

// Updates the disks of all paths to `target`. Without MPIO, each session but the first shows copies
// of the disks.
void ShowDisks(NodeState& state, const IscsiTarget& target) {
  const std::vector<IscsiTarget*> ways = PathsTo(state, target);
  bool is_first_session = true;
  for (IscsiTarget* const way : ways) {
    const bool shows_again = way->connected && !is_first_session && !state.behaviour.mpio;
    is_first_session = is_first_session && !way->connected;
    if (way == ways.front()) continue;
    if (!shows_again) {
      way->disks.clear();
    } else if (way->disks.empty()) {
      way->disks = SecondPathDisks(state, ways.front()->disks);
    }
  }
}

}  // namespace

std::string PortalText(const IscsiPortal& portal) {
  return absl::StrCat(portal.address, ":", portal.port);
}

absl::Status AddPortal(NodeState& state, const IscsiPortal& portal,
                       const ChapCredentials& credentials) {
  IscsiPortalState* found = FindPortal(state, portal);
  if (found != nullptr && found->registered) {
    return absl::AlreadyExistsError(
        absl::StrCat("the target portal ", PortalText(portal), " is registered"));
  }
  const std::string operation = absl::StrCat("adding target portal ", PortalText(portal));
  const absl::Status answers = CheckAnswers(found, operation);
  if (!answers.ok()) return answers;
  if (found->discovery_chap && !found->targets.empty() &&
      !Authenticates(found->targets.front(), credentials, state.iscsi_mutual_chap_secret)) {
    return Failure(operation, kAuthenticationFailed, absl::StatusCode::kFailedPrecondition);
  }
  found->registered = true;
  return absl::OkStatus();
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
      if (!EqualNames(target.iqn, iqn)) continue;
      if (found->registered || target.connected) return &target;
    }
  }
  return absl::NotFoundError(absl::StrCat("target portal ", PortalText(portal),
                                          " is not registered or offers no target ", iqn));
}

std::vector<IscsiTarget*> TargetsNamed(NodeState& state, const std::string& iqn) {
  std::vector<IscsiTarget*> targets;
  for (IscsiPortalState& portal : state.iscsi_portals) {
    for (IscsiTarget& target : portal.targets) {
      if (EqualNames(target.iqn, iqn)) targets.push_back(&target);
    }
  }
  return targets;
}

std::vector<IscsiTarget*> PathsTo(NodeState& state, const IscsiTarget& target) {
  std::vector<IscsiTarget*> paths = TargetsNamed(state, target.iqn);
  std::erase_if(paths, [&](const IscsiTarget* path) {
    return path != &target && (path->separate || target.separate);
  });
  return paths;
}

bool IsLive(const NodeState& state, const IscsiTarget& target) {
  if (!target.connected) return false;
  // Compares addresses, so that the search visits only portals: a node has few portals but many
  // targets.
  const auto offers = [&target](const IscsiPortalState& portal) {
    const IscsiTarget* const first = portal.targets.data();
    return !std::less<>()(&target, first) && std::less<>()(&target, first + portal.targets.size());
  };
  const auto portal = std::ranges::find_if(state.iscsi_portals, offers);
  return portal != state.iscsi_portals.end() && portal->reachable;
}

bool ShowsDisks(NodeState& state, const IscsiTarget& target) {
  if (IsLive(state, target) || target.disks.empty()) return IsLive(state, target);
  const std::vector<IscsiTarget*> ways = PathsTo(state, target);
  return ways.front() == &target && std::any_of(ways.begin(), ways.end(), [&](const auto* way) {
           return IsLive(state, *way);
         });
}

const std::vector<Disk>& DisksBy(NodeState& state, const IscsiTarget& target) {
  return target.disks.empty() ? PathsTo(state, target).front()->disks : target.disks;
}

absl::Status Connect(NodeState& state, const IscsiPortal& portal, const std::string& iqn,
                     const ChapCredentials& credentials, bool multipath) {
  const std::string operation = absl::StrCat("connecting target ", iqn);
  ABSL_ASSIGN_OR_RETURN(IscsiTarget* const target, FindTarget(state, portal, iqn));
  const std::vector<IscsiTarget*> named = TargetsNamed(state, iqn);
  const bool has_session =
      std::any_of(named.begin(), named.end(), [](const auto* other) { return other->connected; });
  if (target->connected || (has_session && !multipath)) {
    return absl::AlreadyExistsError(absl::StrCat("target ", iqn, " is connected"));
  }
  const absl::Status answers = CheckAnswers(FindPortal(state, portal), operation);
  if (!answers.ok()) return answers;
  if (!Authenticates(*PathsTo(state, *target).front(), credentials,
                     state.iscsi_mutual_chap_secret)) {
    return Failure(operation, kAuthenticationFailed, absl::StatusCode::kFailedPrecondition);
  }
  target->connected = true;
  target->session_chap = credentials.mode;
  ShowDisks(state, *target);
  return absl::OkStatus();
}

absl::Status Disconnect(NodeState& state, IscsiTarget* target) {
  if (!target->connected) {
    return absl::NotFoundError(absl::StrCat("target ", target->iqn, " is not connected"));
  }
  target->connected = false;
  ShowDisks(state, *target);
  return absl::OkStatus();
}

void RestartSessions(NodeState& state) {
  for (IscsiPortalState& portal : state.iscsi_portals) {
    for (IscsiTarget& target : portal.targets) {
      target.connected = target.persistent && portal.reachable;
    }
  }
  for (IscsiPortalState& portal : state.iscsi_portals) {
    for (IscsiTarget& target : portal.targets) ShowDisks(state, target);
  }
}

absl::Status SetMutualChapSecret(NodeState& state, const Secret& secret) {
  if (secret.size() < kMinChapSecret || secret.size() > kMaxChapSecret) {
    return absl::InvalidArgumentError("the mutual CHAP secret must have 12 to 16 bytes");
  }
  state.iscsi_mutual_chap_secret = secret;
  return absl::OkStatus();
}

}  // namespace csi_proxy::machine::simulator
