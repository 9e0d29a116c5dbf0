#include "server/simulator/check.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/names/windows_path.h"
#include "server/simulator/core.h"
#include "server/simulator/iscsi.h"

namespace csi_proxy::machine::simulator {
namespace {

constexpr absl::Duration kMaxLatency = absl::Hours(1);
constexpr size_t kMaxListed = 1024;
constexpr size_t kMaxDependencyDepth = 64;
constexpr size_t kMaxIqnBytes = 223;

bool IsLatency(absl::Duration duration) {
  return duration >= absl::ZeroDuration() && duration <= kMaxLatency;
}
constexpr char kNotLatency[] = "is not 0 to one hour";

void CheckServer(const SmbServer& server, const std::string& at, Problems* problems) {
  const auto share_of = [&](absl::string_view share) {
    return UncPath::Parse("name", absl::StrCat("\\\\", server.name, "\\", share));
  };
  // Neither the server's name nor a share's name may contain a separator.
  const auto is_one = [](const absl::StatusOr<UncPath>& path) {
    return path.ok() && path->components().empty();
  };
  problems->Require(is_one(share_of("x")) && share_of("x")->share() == "x", at, "name",
                    "is not a server name");
  std::set<std::string> names;
  for (size_t i = 0; i < server.users.size(); ++i) {
    const SmbUser& user = server.users[i];
    const std::string here = Element(at, "user", i);
    problems->Require(!user.name.empty() && IsPlainText(user.name), here, "name",
                      "is empty, has control characters or more than 1024 bytes");
    problems->Require(names.insert(FoldName(user.name)).second, here, "name", "is another user's");
  }
  names.clear();
  for (size_t i = 0; i < server.shares.size(); ++i) {
    const std::string here = Element(at, "share", i);
    problems->Require(is_one(share_of(server.shares[i].name)), here, "name", "is not a share name");
    problems->Require(names.insert(FoldName(server.shares[i].name)).second, here, "name",
                      "is another share's");
    CheckShareTree(server.shares[i].tree, here, problems);
  }
}

void CheckSmb(const NodeState& state, Problems* problems) {
  problems->Require(state.smb_servers.size() <= kMaxListed, "smb_server", "",
                    "there are more than 1024");
  std::set<std::string> names;
  for (size_t i = 0; i < state.smb_servers.size() && problems->none(); ++i) {
    const std::string at = Element("", "smb_server", i);
    CheckServer(state.smb_servers[i], at, problems);
    problems->Require(names.insert(FoldName(state.smb_servers[i].name)).second, at, "name",
                      "is another server's");
  }
  names.clear();
  for (size_t i = 0; i < state.smb_mappings.size() && problems->none(); ++i) {
    const SmbMappingState& mapping = state.smb_mappings[i];
    const std::string at = Element("", "smb_mapping", i);
    const absl::StatusOr<UncPath> share = UncPath::Parse("remote_path", mapping.remote_path);
    problems->RequireOk(share.status(), at, "remote_path");
    problems->Require(
        share.ok() && share->components().empty() && share->Share() == mapping.remote_path, at,
        "remote_path", "is not \\\\server\\share in lower case");
    problems->Require(names.insert(mapping.local_path + mapping.remote_path).second, at,
                      "remote_path", "is mapped twice");
  }
}

void CheckTarget(const IscsiTarget& target, const std::string& at, Problems* problems) {
  problems->Require(
      !target.iqn.empty() && target.iqn.size() <= kMaxIqnBytes && IsPlainText(target.iqn), at,
      "iqn", "is not 1 to 223 bytes without control characters");
  const bool chap = target.chap != ChapMode::kNone;
  problems->Require(chap != target.username.empty(), at, "username",
                    "is required with CHAP, and not allowed without");
  problems->Require(IsPlainText(target.username), at, "username", kNotPlainText);
  problems->Require(chap != target.secret.empty(), at, "secret",
                    "is required with CHAP, and not allowed without");
  problems->Require((target.chap == ChapMode::kMutual) != target.mutual_secret.empty(), at,
                    "mutual_secret", "is required with mutual CHAP, and not allowed without");
}

void CheckIscsi(const NodeState& state, Problems* problems) {
  std::set<std::string> portals;
  std::set<std::string> all_iqns;
  for (size_t i = 0; i < state.iscsi_portals.size() && problems->none(); ++i) {
    const IscsiPortalState& portal = state.iscsi_portals[i];
    const std::string at = Element("", "iscsi_portal", i);
    problems->Require(!portal.portal.address.empty() && IsPlainText(portal.portal.address), at,
                      "address", "is empty, has control characters or more than 1024 bytes");
    problems->Require(portal.portal.port != 0, at, "port", "is not 1 to 65535");
    problems->Require(portals.insert(absl::AsciiStrToLower(PortalText(portal.portal))).second, at,
                      "address", "another portal has this address and port");
    std::set<std::string> iqns;
    for (size_t t = 0; t < portal.targets.size() && problems->none(); ++t) {
      const std::string here = Element(at, "target", t);
      const IscsiTarget& target = portal.targets[t];
      CheckTarget(target, here, problems);
      const std::string iqn = FoldName(target.iqn);
      problems->Require(iqns.insert(iqn).second, here, "iqn", "is another target's");
      const bool is_first = target.separate || all_iqns.insert(iqn).second;
      problems->Require(is_first || target.chap == ChapMode::kNone, here, "chap",
                        "is that of the first portal which has this target");
      problems->Require(is_first || target.disks.empty() || target.connected, here, "disk",
                        "belongs to the first portal which has this target");
    }
  }
}

// Finds circular and too long dependencies: each round resolves the services whose dependencies are
// all resolved. A service that stays unresolved depends on a circle or on too long a chain.
void CheckDependencies(const NodeState& state, Problems* problems) {
  std::set<std::string> resolved;
  for (size_t round = 0; round <= kMaxDependencyDepth; ++round) {
    std::vector<std::string> now;
    for (const Service& service : state.services) {
      const bool ready =
          std::all_of(service.depends_on.begin(), service.depends_on.end(),
                      [&](const std::string& name) { return resolved.contains(FoldName(name)); });
      if (ready) now.push_back(FoldName(service.name));
    }
    const size_t before = resolved.size();
    resolved.insert(now.begin(), now.end());
    if (resolved.size() == before) break;
  }
  for (size_t i = 0; i < state.services.size(); ++i) {
    problems->Require(resolved.contains(FoldName(state.services[i].name)),
                      Element("", "service", i), "depends_on",
                      "makes the service depend on itself, or on a chain of more than 64");
  }
}

void CheckServices(const NodeState& state, Problems* problems) {
  problems->Require(state.services.size() <= kMaxListed, "service", "", "there are more than 1024");
  if (!problems->none()) return;
  std::set<std::string> names;
  for (const Service& service : state.services) names.insert(FoldName(service.name));
  std::set<std::string> seen;
  for (size_t i = 0; i < state.services.size() && problems->none(); ++i) {
    const Service& service = state.services[i];
    const std::string at = Element("", "service", i);
    problems->Require(!service.name.empty() && IsPlainText(service.name), at, "name",
                      "is empty, has control characters or more than 1024 bytes");
    problems->Require(seen.insert(FoldName(service.name)).second, at, "name",
                      "is another service's");
    problems->Require(IsPlainText(service.display_name), at, "display_name", kNotPlainText);
    problems->Require(service.state != ServiceState::kUnknown, at, "state", "is missing");
    problems->Require(IsLatency(service.start_latency), at, "start_latency_ms", kNotLatency);
    problems->Require(IsLatency(service.stop_latency), at, "stop_latency_ms", kNotLatency);
    problems->Require(service.depends_on.size() <= kMaxDependencyDepth, at, "depends_on",
                      "names more than 64");
    for (size_t d = 0; d < service.depends_on.size(); ++d) {
      problems->Require(names.contains(FoldName(service.depends_on[d])),
                        Element(at, "depends_on", d), "", "is no service of this node");
    }
  }
  if (problems->none()) CheckDependencies(state, problems);
}

void CheckFaultRule(const FaultRule& rule, const std::string& at, Problems* problems) {
  const std::vector<std::string>& operations = Operations();
  problems->Require(
      std::any_of(
          operations.begin(), operations.end(),
          [&](absl::string_view operation) { return MatchesOperation(rule.operation, operation); }),
      at, "operation", "names no rpc, such as volume.FormatVolume, and no call of the machine");
  problems->Require(IsPlainText(rule.resource), at, "resource", kNotPlainText);
  problems->Require(IsLatency(rule.latency), at, "latency_ms", kNotLatency);
  const int code = static_cast<int>(rule.code);
  problems->Require(code >= 0 && code <= static_cast<int>(absl::StatusCode::kUnauthenticated), at,
                    "code", "is not a gRPC status code");
  problems->Require(rule.code != absl::StatusCode::kOk || rule.latency > absl::ZeroDuration() ||
                        rule.stuck || rule.objects != AnsweredObjects::kAll,
                    at, "code", "must be given, or latency_ms, objects or stuck");
  problems->Require(IsPlainText(rule.error.text), at, "error.text", kNotPlainText);
}

}  // namespace

absl::Status CheckFault(const FaultRule& rule, const std::string& field) {
  Problems problems;
  CheckFaultRule(rule, field, &problems);
  return problems.status();
}

absl::Status CheckState(NodeState& state) {
  Problems problems;
  problems.Require(IsPlainText(state.bios_serial_number), "", "bios_serial_number", kNotPlainText);
  problems.Require(IsLatency(state.volume_arrival_delay), "", "volume_arrival_ms", kNotLatency);
  problems.Require(!state.attach.has_value() || IsLatency(state.attach->arrival_delay), "attach",
                   "arrival_ms", kNotLatency);
  problems.Require(IsLatency(state.behaviour.volume_cache_delay), "behaviour", "volume_cache_ms",
                   kNotLatency);
  if (problems.none()) CheckDisks(state, &problems);
  if (problems.none()) CheckSmb(state, &problems);
  if (problems.none()) CheckIscsi(state, &problems);
  if (problems.none()) CheckServices(state, &problems);
  problems.Require(state.other_opens.size() <= kMaxListed, "other_open", "",
                   "there are more than 1024");
  for (size_t i = 0; i < state.other_opens.size() && problems.none(); ++i) {
    problems.RequireOk(WindowsPath::Parse("path", state.other_opens[i].path).status(),
                       Element("", "other_open", i), "path");
  }
  problems.Require(state.faults.size() <= kMaxListed, "fault", "", "there are more than 1024");
  for (size_t i = 0; i < state.faults.size() && problems.none(); ++i) {
    CheckFaultRule(state.faults[i], Element("", "fault", i), &problems);
  }
  return problems.status();
}

}  // namespace csi_proxy::machine::simulator
