// Tenants of a random node: two to four drivers, each with its own share, iSCSI target and
// directory. Their calls concern their own objects, or attack another tenant's.
//
// | rule | holds for every call of another tenant |
// |---|---|
// | links | A tenant's link to a share leads there until that tenant unstages it. |
// | mappings | A working mapping stays, with its user, while a tenant's link needs it. |
// | binding | Where mappings are bound to credentials, only these give a caller the share. |
// | sessions | A target stays connected while a disk of it is mounted, or online with a volume. |
// | stages | A tenant's StageTarget of its own target keeps its session during other calls. |
// | logins | Staging needs the target's secret, or a session that exists and CHAP in the request. |
// | texts | No answer has a secret, or a name of another tenant that the caller did not use. |
// | waiting | No call holds a lock for longer than kLongestHold, even if its portals are slow. |
// | servers | Calls access only servers of the node's mappings. |
// | teardown | Each tenant can unstage all that it staged; no link, mapping or session is left. |
//
// Calls may hang or be late, and other programs may hold entries open. A mapping may then be left.
//
// SECURITY.md grants some acts to every driver with a pipe, so they are not attacks: to remove or
// unstage a path below the working directories, to remove the mapping of a share by its name, to
// link to a mapped share that does not require credentials, to change a disk that is not staged.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"
#include "server/base/status_macros.h"
#include "server/groups/testing/random_calls.h"
#include "server/groups/testing/random_nodes.h"
#include "server/groups/testing/random_rules.h"
#include "server/names/windows_path.h"
#include "server/simulator/win32/paths.h"

namespace csi_proxy::storage {

class Tenants {
 public:
  // The number of the first disk of the tenants' targets. The other disks have the next numbers.
  static constexpr uint32_t kFirstDisk = 100;
  // The maximum time for which a call may hold a lock. The call may wait for one portal under a
  // lock, but not for all of its portals.
  static constexpr absl::Duration kLongestHold = absl::Seconds(40);

  explicit Tenants(Random* random) : random_(*random) {
    count_ = 2 + random_.Below(3);
    is_bound_ = random_.OneIn(2);
    is_slow_ = random_.OneIn(4);
  }

  bool is_bound() const { return is_bound_; }

  // Returns the servers and portals of the node as a scenario.
  std::string Scenario() {
    std::string text = is_slow_ ? kSlow : "", users, shares[2];
    for (size_t i = 0; i < std::size(kNames); ++i) {
      absl::SubstituteAndAppend(&users, kUser, kNames[i]);
      absl::SubstituteAndAppend(&shares[i % 2], kShare, absl::StrCat("s-", kNames[i], "-dätä"));
      absl::SubstituteAndAppend(&text, kTarget, kNames[i], Portal(i), random_.OneIn(2), Iqn(i),
                                kFirstDisk + i);
    }
    // Adds many mappings of one server, to fill an answer with their names.
    for (int i = random_.OneIn(8) ? 60 : 0; i > 0; --i) {
      const std::string share = absl::StrCat("l", i, std::string(70, 'l'));
      absl::SubstituteAndAppend(&shares[1], kShare, share);
      absl::SubstituteAndAppend(&text, kMapping, share);
    }
    for (int i = 0; i < 2; ++i) {
      absl::StrAppend(&text, "smb_server { name: \"", kServers[i], "\"", users, shares[i], "}");
    }
    return text;
  }

  // Creates a link to a server that must not be accessed or to a share of any tenant, or creates
  // seventy nested directories, or calls Swap(), which fails if a file of `os` prevents the swap.
  absl::Status Plant(machine::simulator::Machine* node, machine::Os& os) {
    std::string path = Directory(random_.Below(count_));
    if (random_.OneIn(3)) return Swap(node, os);
    if (random_.OneIn(2)) {
      return node->MakeLink(absl::StrCat(path, "\\decoy", random_.Below(9)),
                            Share(random_.Below(count_)) + "\\");
    }
    if (is_slow_ && random_.OneIn(2)) return node->MakeLink(path + "\\evil", kEvil);
    for (int i = 0; i < 70; ++i) path += "\\d";
    return node->MakeDirectory(path);
  }

  // Exchanges the names of a tenant's directory and its junction, `work` and `away`. The junction
  // leads out of the roots, or to another tenant. In the latter case the directory gets a link that
  // could be that tenant's. Fails if `os` has `work` open, because Windows would not rename it.
  absl::Status Swap(machine::simulator::Machine* node, machine::Os& os) {
    const size_t i = random_.Below(count_);
    const std::string work = Directory(i) + "\\work", away = Directory(i) + "\\away";
    const std::string leads_to = LeadsOut(i) ? R"(C:\data)" : Directory(Next(i));
    if (node->MakeLink(away, leads_to, true).ok()) {
      ABSL_RETURN_IF_ERROR(node->MakeDirectory(work));
      if (!LeadsOut(i)) (void)node->MakeLink(work + "\\pv0", Share(Next(i)));
    }
    ABSL_ASSIGN_OR_RETURN(const auto root, os.OpenRoot("C:\\"));
    const std::string below = work.substr(3);
    ABSL_RETURN_IF_ERROR(
        root->OpenBelow(absl::StrSplit(below, '\\'), machine::Access::kDelete).status());
    return node->core()->Change([&](NodeState& state) -> absl::Status {
      ABSL_ASSIGN_OR_RETURN(const auto one, machine::simulator::FindPath(state, work, "swapping"));
      ABSL_ASSIGN_OR_RETURN(const auto other,
                            machine::simulator::FindPath(state, away, "swapping"));
      one.tree().ExchangeNames(one.entry, other.entry);
      return absl::OkStatus();
    });
  }
  // Returns true if the call goes through a directory that Swap() swaps.
  static bool IsSwapped(const Call& call) { return absl::StrContains(call.target, "\\work\\"); }

  // Draws a call of one tenant, on its own objects or on another tenant's.
  Call Draw() {
    const size_t caller = random_.Below(count_);
    const size_t owner = random_.OneIn(2) ? random_.Below(count_) : caller;
    // With the owner's credentials, the caller is a second driver of the same share or target.
    const size_t user = random_.OneIn(3) ? caller : owner;
    Call call;
    call.api = random_.Of<Api>(
        {Api::kStageShare, Api::kStageShare, Api::kUnstageShare, Api::kUnstageShare, Api::kMapShare,
         Api::kUnmapShare, Api::kStageTarget, Api::kStageTarget, Api::kUnstageTarget, Api::kConnect,
         Api::kPartition, Api::kLink, Api::kRmdir, Api::kStage, Api::kReads});
    call.caller = static_cast<int>(caller);
    call.target = absl::StrCat(Directory(caller), "\\pv", random_.Below(2));
    call.remote = Spelt(Share(call.api == Api::kUnmapShare ? caller : owner));
    if (call.api == Api::kUnstageShare && random_.OneIn(2)) call.remote = "";
    call.username = random_.OneIn(8) ? "" : User(user);
    call.password = random_.OneIn(8) ? "wrong-secret" : Secret(user);
    call.iqn = random_.OneIn(3) ? absl::AsciiStrToUpper(Iqn(owner)) : Iqn(owner);
    call.portals = {Portal(owner)};
    // An attacker opens the owner's target through its own portal.
    if (random_.OneIn(4)) call.portals = {Portal(caller)};
    // A driver of the older groups uses its own target.
    if (call.api == Api::kConnect) call.iqn = Iqn(caller), call.portals = {Portal(caller)};
    call.number = kFirstDisk + static_cast<uint32_t>(caller);
    call.flag = random_.OneIn(2);
    call.selector.number = absl::StrCat(random_.Below(6));
    if (call.api == Api::kReads) call.target = Directory(caller) + "\\evil";
    if (call.api == Api::kLink || call.api == Api::kRmdir) {
      call.remote = absl::StrCat(Directory(owner), "\\pv", random_.Below(2));
      call.target = Directory(caller) + "\\link";
    }
    // A call through the junction must not reach a path outside the roots. RemoveMount must not
    // reach any path through a junction.
    if (call.api != Api::kStageTarget && random_.OneIn(5)) {
      call.target = absl::StrCat(Directory(owner), "\\work\\", random_.OneIn(2) ? "pv0" : "1");
      if (!LeadsOut(owner)) call.api = Api::kRemoveMount, call.remote = Share(Next(owner));
    }
    if (is_slow_ && random_.OneIn(4)) call.portals = {"10.6.6.1", "10.6.6.2", "10.6.6.3"};
    return call;
  }

  // Returns the calls by which the tenants unstage everything, also the results of failed calls.
  std::vector<Call> Teardown(NodeState& state) const {
    std::vector<Call> calls;
    for (const auto& [path, share] : LinksToShares(state)) {
      for (int i = 0; i < static_cast<int>(count_); ++i) {
        if (!absl::StartsWith(path, FoldName(Directory(i)) + "\\")) continue;
        calls.push_back({.api = Api::kUnstageShare, .target = path, .caller = i});
      }
    }
    calls.insert(calls.end(), tried_.begin(), tried_.end());
    return calls;
  }

  // Returns true if Teardown() unstages the mount at the path.
  bool HasTried(const std::string& path) const {
    return std::ranges::any_of(tried_, [&](const Call& call) { return call.target == path; });
  }

  // Returns an object that is left after Teardown() and should be gone; "" if there is none.
  std::string Left(NodeState& state) const {
    const Links links = LinksToShares(state);
    if (!links.empty()) return "teardown: a link at " + links.begin()->first;
    for (const Call& call : tried_) {
      const auto* const session = SessionOf(state, OwnerOf(call));
      if (session == nullptr || (session->disks[0].online && HasVolume(session->disks[0])))
        continue;
      return "teardown: a session with " + call.iqn;
    }
    return "";
  }

  // Records the names in a call, because later answers to its caller may contain them, and the
  // teardown of the objects that the call may stage.
  void Note(const Call& call) {
    absl::StrAppend(&used_[call.caller], absl::AsciiStrToLower(call.Text()));
    if (call.api != Api::kStageTarget) return;
    tried_.push_back(call);
    tried_.back().api = Api::kUnstageTarget;
  }

  // Returns the rule that a call has broken, and how, or "". `is_calm` is true if only calls of
  // tenants ran during the call, none hung and no other program held an entry open. `begun` is the
  // state before the call; `before` is the state after the last event during the call, or else
  // `begun`.
  std::string Judge(const Call& call, const absl::Status& status, const std::string& answer,
                    absl::Duration took, bool is_calm, NodeState& begun, NodeState& before,
                    NodeState& after) {
    std::string broken = JudgeTexts(call, absl::StrCat(status.message(), " ", answer));
    if (is_calm && call.api == Api::kStageTarget && call.portals.front() == Portal(call.caller) &&
        EqualNames(call.iqn, Iqn(call.caller)) &&
        (absl::IsNotFound(status) || absl::StrContains(status.message(), "was disconnected"))) {
      broken = "stages: a call of another has ended the session";
    }
    const auto links = LinksToShares(after);
    const auto own = staged_.find(FoldName(call.target));
    for (const auto& [path, staged] : staged_) {
      if (!broken.empty() || staged.caller == call.caller || staged.share.empty()) continue;
      const auto* const first = FindMapping(begun, staged.share);
      // The call may undo what it has done.
      NodeState& from = first == nullptr || first->broken ? begun : before;
      broken = JudgeShare(call, path, staged.share, links, from, after);
    }
    for (size_t i = 0; i < std::size(kNames); ++i) {
      // A caller may end the target's session if it has staged a disk of the target or owns it.
      const bool may_end = own != staged_.end() && own->second.iqn == Iqn(i);
      if (may_end || static_cast<int>(i) == call.caller || !broken.empty()) continue;
      const auto* const was = SessionOf(before, i);
      if (was == nullptr || !was->disks[0].online || SessionOf(after, i) != nullptr) continue;
      if (HasVolume(was->disks[0])) broken = "sessions: that with " + Iqn(i) + " has ended";
    }
    if (is_calm && call.api == Api::kReads && took > absl::Minutes(1)) {
      broken = "servers: one was asked";
    }
    if (!broken.empty() || !status.ok() || IsSwapped(call)) return broken;
    return JudgeSuccess(call, is_calm, links, before, after);
  }

 private:
  static constexpr const char* kNames[] = {"otter", "heron", "lynx", "quail"};
  static constexpr const char* kServers[] = {"fs1", "fs2"};
  static constexpr char kUser[] = R"(user { name: "u-$0" password: "x-$0-secret" })";
  static constexpr char kShare[] = R"(share { name: "$0" })";
  static constexpr char kMapping[] =
      R"(smb_mapping { remote_path: "\\\\fs2\\$0" username: "u-otter" })";
  static constexpr char kTarget[] = R"(
    iscsi_portal { address: "$1" registered: $2 target {
      iqn: "$3" chap: ONE_WAY username: "u-$0" secret: "x-$0-secret"
      disk { number: $4 size_bytes: 67108864 bus_type: BUS_ISCSI page83: "d-$0" offline: true
             location: "iSCSI : Adapter 1 : Port 0 : Target 0 : LUN 0" } } })";
  // Portals that answer late, and a server that must not be accessed.
  static constexpr char kEvil[] = R"(\\evil\x)";
  static constexpr char kSlow[] = R"(
    fault { operation: "win32.Reach" resource: "\\\\evil\\x" latency_ms: 999999 }
    fault { operation: "wmi.*" resource: "10.6.6.1:3260" latency_ms: 15000 }
    fault { operation: "wmi.*" resource: "10.6.6.2:3260" latency_ms: 15000 }
    fault { operation: "wmi.*" resource: "10.6.6.3:3260" latency_ms: 15000 })";

  // An object that a tenant has staged: a target, or a share with its name after FoldName().
  struct Staged {
    int caller = 0;
    std::string share = {};
    std::string iqn = {};
  };
  using Links = std::map<std::string, std::string>;

  // The maximum length of an answer's texts in bytes: roughly gRPC's limit for headers.
  static constexpr size_t kLongestText = 4096;

  size_t Next(size_t i) const { return (i + 1) % count_; }
  static bool LeadsOut(size_t i) { return i % 2 == 0; }
  std::string Directory(size_t i) const { return absl::StrCat(kRoot, R"(\plugins\p-)", kNames[i]); }
  std::string Share(size_t i) const {
    return absl::StrCat("\\\\", kServers[i % 2], "\\s-", kNames[i], "-dätä");
  }
  std::string Iqn(size_t i) const { return absl::StrCat("iqn.2026-01.example:t-", kNames[i]); }
  std::string Secret(size_t i) const { return absl::StrCat("x-", kNames[i], "-secret"); }
  std::string User(size_t i) const { return absl::StrCat("u-", kNames[i]); }
  size_t OwnerOf(const Call& call) const {
    size_t owner = 0;
    while (!EqualNames(Iqn(owner), call.iqn)) ++owner;
    return owner;
  }
  static std::string Portal(size_t i) { return absl::StrCat("10.7.0.", i + 1); }

  // Returns another spelling of a share's name.
  std::string Spelt(std::string name) {
    if (random_.OneIn(3)) name = absl::StrReplaceAll(name, {{"ä", "Ä"}});
    if (random_.OneIn(3)) name = absl::AsciiStrToUpper(name);
    if (random_.OneIn(4)) name = absl::StrReplaceAll(name, {{"\\", "/"}});
    return random_.OneIn(4) ? name + "\\" : name;
  }

  static std::string ShareOf(const std::string& remote) {
    const auto path = UncPath::Parse("remote", remote);
    return path.ok() ? FoldName(path->Share()) : "";
  }

  // Returns the links on C: to shares, keyed by path. Both are folded by FoldName().
  static Links LinksToShares(NodeState& state) {
    Links links;
    for (const Disk* disk : AllDisks(state)) {
      for (const DiskPartition& partition : disk->partitions) {
        if (!partition.volume.has_value() || partition.volume->drive_letter != 'C') continue;
        const Tree& tree = partition.volume->tree;
        for (const Tree::Id id : tree.Walk()) {
          if (tree.at(id).target.empty()) continue;
          const std::string share = ShareOf(tree.at(id).target);
          if (share.empty() || tree.at(id).target == kEvil) continue;
          links[FoldName(absl::StrCat("C:\\", tree.PathOf(id)))] = share;
        }
      }
    }
    return links;
  }

  static const machine::simulator::SmbMappingState* FindMapping(const NodeState& state,
                                                                const std::string& share) {
    const auto found =
        std::find_if(state.smb_mappings.begin(), state.smb_mappings.end(),
                     [&](const auto& mapping) { return EqualNames(mapping.remote_path, share); });
    return found == state.smb_mappings.end() ? nullptr : &*found;
  }

  // Returns the tenant's target if the node has a session with it, else null.
  static const machine::simulator::IscsiTarget* SessionOf(const NodeState& state, size_t i) {
    for (const auto& portal : state.iscsi_portals) {
      if (portal.portal.address == Portal(i) && portal.targets[0].connected)
        return &portal.targets[0];
    }
    return nullptr;
  }

  static bool HasVolume(const Disk& disk) {
    return std::any_of(disk.partitions.begin(), disk.partitions.end(),
                       [](const DiskPartition& p) { return p.volume.has_value(); });
  }

  // Checks the rule `texts`. Names begin with their object's kind and end with the tenant's name.
  std::string JudgeTexts(const Call& call, const std::string& text) {
    const std::string said = absl::AsciiStrToLower(text);
    const std::string& used = used_[call.caller];
    if (said.size() > kLongestText) return absl::StrCat("texts: ", said.size(), " bytes");
    for (const std::string name : kNames) {
      if (absl::StrContains(said, "x-" + name)) return "texts: a secret in " + text;
      for (const char* kind : {"p-", "u-", "s-", "t-", "d-"}) {
        if (absl::StrContains(said, kind + name) && !absl::StrContains(used, kind + name)) {
          return absl::StrCat("texts: ", kind, name, " in ", text);
        }
      }
    }
    return "";
  }

  static std::string JudgeShare(const Call& call, const std::string& path, const std::string& share,
                                const Links& links, NodeState& before, NodeState& after) {
    const auto link = links.find(path);
    if (link == links.end() || link->second != share) return "links: that at " + path + " is gone";
    const auto* const was = FindMapping(before, share);
    if (was == nullptr || was->broken) return "";
    if (call.api == Api::kUnmapShare && ShareOf(call.remote) == share) return "";
    const auto* const is = FindMapping(after, share);
    const bool stays = is != nullptr && !is->broken && is->username == was->username;
    return stays ? "" : "mappings: that of " + share + " is gone";
  }

  std::string JudgeSuccess(const Call& call, bool is_calm, const Links& links, NodeState& before,
                           NodeState& after) {
    const std::string path = FoldName(call.target);
    const auto staged = staged_.find(path);
    const std::string share = staged != staged_.end() && call.remote.empty() ? staged->second.share
                                                                             : ShareOf(call.remote);
    const auto* const mapping = FindMapping(after, share);
    switch (call.api) {
      case Api::kStageShare:
      case Api::kMapShare:
        if (!links.contains(path) || mapping == nullptr) return "links: none was made";
        if (is_bound_ && call.username != mapping->username) return "binding: to another user";
        if (is_bound_ && call.password == "wrong-secret") return "binding: without the password";
        staged_[path] = {.caller = call.caller, .share = share};
        return "";
      case Api::kUnstageShare:
        if (links.contains(path)) return "links: it is there still";
        staged_.erase(path);
        for (const auto& link : links) {
          if (link.second == share) return "";
        }
        if (mapping == nullptr || !is_calm) return "";
        return "teardown: the mapping of " + share + " is left";
      case Api::kStageTarget: {
        const size_t owner = OwnerOf(call);
        const bool has_secret = call.password == Secret(owner) && call.username == User(owner);
        const bool is_there = SessionOf(before, owner) != nullptr && !call.username.empty();
        if (!has_secret && !is_there) return "logins: without the secret";
        staged_[path] = {.caller = call.caller, .iqn = Iqn(owner)};
        return "";
      }
      case Api::kUnstageTarget:
        // Another process may have staged a target there after this call's check.
        if (!Mounts(after, true).contains(call.target)) staged_.erase(path);
        return "";
      default:
        return "";
    }
  }

  Random& random_;
  size_t count_ = 0;
  bool is_bound_ = false;
  bool is_slow_ = false;
  // Keyed by FoldName() of the path.
  std::map<std::string, Staged> staged_;
  // The texts of each tenant's calls.
  std::map<int, std::string> used_;
  // The UnstageTarget calls for all StageTarget calls.
  std::vector<Call> tried_;
};

}  // namespace csi_proxy::storage
