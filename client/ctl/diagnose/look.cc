#include "client/ctl/diagnose/look.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "client/ctl/output.h"
#include "client/ctl/top/numbers.h"
#include "server/base/fallbacks.h"
#include "server/names/windows_path.h"

namespace csi_proxy::ctl::diagnose {
namespace {

// Returns a finding of the table about `where`. `fields` are those of the repair's call.
FindingWithRepair Make(FindingId id, std::string where, std::string what,
                       const std::vector<std::string>& arguments = {}, Fields fields = {}) {
  const FindingFacts& facts = kFindingTable[id.row];
  std::vector<std::pair<std::string, std::string>> values;
  for (size_t i = 0; i < arguments.size(); ++i) {
    values.emplace_back(absl::StrCat("$", i), arguments[i]);
  }
  FindingWithRepair found;
  found.finding.set_id(facts.name);
  found.finding.set_kind(facts.kind);
  found.finding.set_where(std::move(where));
  found.finding.set_what(std::move(what));
  found.finding.set_why(absl::StrReplaceAll(facts.why, values));
  found.finding.set_repair(absl::StrReplaceAll(facts.advice, values));
  found.finding.set_can_be_repaired(facts.repair != nullptr);
  if (facts.repair != nullptr) found.repair = facts.repair;
  found.fields = std::move(fields);
  return found;
}

// Replaces the advice of a finding by that of a row without a kind, so that nothing repairs it.
void LeaveAlone(FindingId id, FindingWithRepair* found) {
  found->repair.clear();
  found->finding.set_id(kFindingTable[id.row].name);
  found->finding.set_repair(kFindingTable[id.row].advice);
  found->finding.set_can_be_repaired(false);
}

// Calls a method. On failure returns an empty answer and adds a remark.
Answer Ask(Rpcs& rpcs, const char* method, const Fields& fields, absl::string_view what,
           Findings* findings) {
  absl::StatusOr<Answer> answer = rpcs.Call("storage", method, fields);
  if (answer.ok()) {
    findings->answered = true;
    return *std::move(answer);
  }
  findings->NotKnown(what, ": ", StatusText(answer.status()));
  if (findings->error.ok()) findings->error = answer.status();
  return Answer();
}

void RecordIfIncomplete(const Answer& answer, absl::string_view what, Findings* findings) {
  if (!answer.Flag("incomplete")) return;
  findings->CutShort(what, ": there are more directories than the service reads");
}

// Returns the properties that distinguish a disk from a later disk with the same number.
std::string Describe(const Answer& disk) {
  const std::string bus = disk.Text("bus_type");
  std::string text =
      absl::StrCat(bus, bus.empty() ? "" : ", ", disk.Number("size_bytes"), " bytes");
  for (const auto& [field, name] : {std::pair("serial_number", ", serial "),
                                    {"page83", ", page 83 "},
                                    {"unique_id", ", unique id "}}) {
    const std::string value = disk.Text(field);
    if (!value.empty()) absl::StrAppend(&text, name, value);
  }
  return text;
}

FindingWithRepair MakeOfDisk(FindingId id, const Answer& disk,
                             const std::vector<std::string>& arguments = {}, Fields fields = {}) {
  FindingWithRepair found = Make(id, absl::StrCat("disk ", disk.Number("number")), Describe(disk),
                                 arguments, std::move(fields));
  found.finding.set_size_bytes(static_cast<int64_t>(disk.Number("size_bytes")));
  return found;
}

// Returns `\\host\share` of a path on a server; empty for any other path.
std::string ShareOf(absl::string_view path) {
  const absl::StatusOr<UncPath> unc = UncPath::Parse("", path);
  return unc.ok() ? absl::StrCat("\\\\", unc->host(), "\\", unc->share()) : "";
}

std::string MapByHand(absl::string_view share) {
  return absl::StrCat(
      "map the share by hand in PowerShell: ",
      PowerShellCommand("csi-proxyctl smb new-smb-global-mapping --username=... --password=-",
                        {{"remote-path", std::string(share)}}));
}

// Returns true if a pod may write to the directory of a link.
bool IsPods(const std::string& link) {
  const absl::StatusOr<WindowsPath> path = WindowsPath::Parse("path", link);
  return !path.ok() || IsPodsDirectory(path->Parent().components());
}

// Returns true if `where` is below `folder`, and not below `other` before that.
bool IsBelow(const std::string& where, const char* folder, const char* other) {
  const std::string path = absl::AsciiStrToLower(where);
  return path.find(folder) < path.find(other);
}
// Return true for a path at which a driver stages a volume, or publishes one to a pod.
bool IsStaged(const std::string& where) { return IsBelow(where, "\\plugins\\", "\\pods\\"); }
bool IsPublished(const std::string& where) { return IsBelow(where, "\\pods\\", "\\plugins\\"); }

// A mounted folder, or a link that may be broken.
struct BrokenLink {
  std::string where, target, what;
  // Other links may lead to it.
  bool may_be_used = false;
};

// Returns the finding about a broken link. `mappings` is the answer of ListSmbMappings.
FindingWithRepair MakeOfShareLink(const BrokenLink& link, const absl::StatusOr<Answer>& mappings) {
  const auto make = [&](FindingId id, const std::vector<std::string>& arguments,
                        const Fields& fields = {}) {
    return Make(id, link.where, link.what, arguments, fields);
  };
  const std::string share = ShareOf(link.target);
  if (share.empty()) return make("link-to-link", {link.target});
  const std::string map = MapByHand(share);
  if (!mappings.ok()) return make("link-without-mapping", {map});
  for (const Answer& mapping : mappings->Each("mappings")) {
    if (!EqualNames(mapping.Text("remote_path"), share)) continue;
    return make("link-of-broken-mapping", {mapping.Text("status"), map});
  }
  for (const Answer& failure : mappings->Each("failures")) {
    const std::string wanted = failure.Text("share");
    if (EqualNames(wanted, share)) {
      return make("link-of-refused-share",
                  {absl::StrCat(failure.Number("seconds_ago")), failure.Text("message")});
    }
    if (EqualNames(failure.Text("target_path"), link.where)) {
      return make("link-to-old-server", {wanted});
    }
  }
  const Fields fields = {{"path", link.where}, {"target", link.target}};
  // While a staging link exists, the kubelet takes the volume for staged and calls no driver.
  if (!IsStaged(link.where)) {
    return make("published-link",
                {map, PowerShellCommand("csi-proxyctl storage remove-mount", fields)});
  }
  if (link.may_be_used) return make("staging-link-in-use", {map});
  return make("staging-link", {map}, fields);
}

// Adds a finding if a link cannot be followed although the mapping of its share shows as OK. Asks
// no server in `mute`, and adds one that does not answer.
void LookAtShareLink(Rpcs& rpcs, const BrokenLink& link, std::set<std::string>* mute,
                     Findings* findings) {
  const std::string share = ShareOf(link.target);
  const std::string server = share.substr(0, share.find('\\', 2));
  if (mute->contains(server)) return;
  const absl::StatusOr<Answer> answer =
      rpcs.Call("filesystem", "IsSymlink", {{"path", link.where}});
  if (absl::IsDeadlineExceeded(answer.status())) mute->insert(server);
  if (!answer.ok()) {
    findings->NotKnown("whether ", link.where,
                       mute->contains(server) ? ", and other links to its server," : "",
                       " can be followed: ", answer.status().message());
  } else if (!answer->Flag("is_symlink")) {
    findings->Add(Make("link-denied", link.where, link.what, {MapByHand(share)}));
  }
}

// Returns true for a mapping of a folder in a share, `\\host\share\folder`. Removing it by this
// path would remove the mapping of the share instead.
bool IsOfFolder(const std::string& remote_path) {
  return std::count(remote_path.begin(), remote_path.end(), '\\') > 3;
}

// Adds findings about disks. Two disks with one id may be two paths to one LUN.
void LookAtDisks(Rpcs& rpcs, Findings* findings) {
  const Answer answer = Ask(rpcs, "ListDisks", {}, "disks", findings);
  findings->lists_disks = answer.Size("disks") > 0;
  std::map<std::string, std::vector<std::string>> by_id;
  for (const Answer& disk : answer.Each("disks")) {
    const std::string number = absl::StrCat(disk.Number("number"));
    for (const auto& [field, name] :
         {std::pair("page83", "page 83 "), {"unique_id", "unique id "}, {"eui", "EUI "}}) {
      const std::string id = absl::AsciiStrToLower(disk.Text(field));
      if (!id.empty()) by_id[absl::StrCat(name, id)].push_back(number);
    }
  }
  std::set<std::string> twins, shown;
  for (const auto& [id, numbers] : by_id) {
    if (numbers.size() < 2) continue;
    twins.insert(numbers.begin(), numbers.end());
    const std::string where = absl::StrCat("disks ", absl::StrJoin(numbers, ", "));
    if (shown.insert(where).second) findings->Add(Make("duplicate-id", where, id));
  }
  for (const Answer& disk : answer.Each("disks")) {
    const std::string number = absl::StrCat(disk.Number("number"));
    const std::string reason = disk.Text("offline_reason");
    const bool is_online = disk.Flag("is_online");
    const bool is_windows = disk.Flag("is_boot") || disk.Flag("is_system");
    const bool is_collision = absl::EqualsIgnoreCase(reason, "Collision");
    if (is_online && !disk.Flag("is_read_only")) continue;
    FindingId id = "offline-disk";
    if (is_online) {
      id = "read-only-disk";
    } else if (twins.contains(number) || absl::EqualsIgnoreCase(reason, "Redundant Path")) {
      id = "second-path";
    } else if (is_collision) {
      id = "colliding-disk";
    } else if (absl::EqualsIgnoreCase(reason, "Policy") && !is_windows) {
      id = "offline-by-policy";
    }
    const std::string why =
        reason.empty() ? "Windows does not say why" : absl::StrCat("Windows says: ", reason);
    FindingWithRepair found = MakeOfDisk(id, disk, {is_collision ? number : why},
                                         {{"disk_number", number}, {"read_only", "false"}});
    if (is_windows) {
      LeaveAlone("windows-disk", &found);
    } else if (is_online && twins.contains(number)) {
      LeaveAlone("twin-disk", &found);
    }
    if (id.row == FindingId("offline-by-policy").row) {
      *findings->rest.add_notes() = std::move(found.finding);
    } else {
      findings->Add(std::move(found));
    }
  }
}

// Adds findings about disks whose content Windows does not recognise.
void LookAtContents(Rpcs& rpcs, Findings* findings) {
  if (!findings->lists_disks) return;
  const Answer answer =
      Ask(rpcs, "ListDisks", {{"read_content", "true"}}, "the content of disks", findings);
  for (const Answer& disk : answer.Each("disks")) {
    const std::string content = disk.Text("content");
    if (absl::StartsWith(content, "not known: ")) {
      findings->CutShort("the content of disk ", disk.Number("number"), ": ", content);
    } else if (!content.empty()) {
      findings->Add(MakeOfDisk("foreign-disk", disk, {content}));
    }
  }
}

// Names of mounted folders and links, by FoldName().
struct LinkEnds {
  // The entries that a link leads to or below, directly or through other links.
  std::set<std::string> used;
  // The links that lead to a mounted folder or below one.
  std::set<std::string> to_mounts;
};

LinkEnds FollowLinks(const std::vector<Answer>& mounts) {
  std::map<std::string, const Answer*> by_path;
  for (const Answer& mount : mounts) by_path.emplace(FoldName(mount.Text("path")), &mount);
  LinkEnds ends;
  for (const Answer& link : mounts) {
    const Answer* at = &link;
    // Links may lead in a circle.
    for (int left = 16; left > 0 && at->Text("kind") != "MOUNTED_VOLUME"; --left) {
      absl::StatusOr<WindowsPath> target = WindowsPath::Parse("target", at->Text("target"));
      if (!target.ok()) break;
      auto next = by_path.find(FoldName(target->ToString()));
      while (next == by_path.end() && !target->components().empty()) {
        *target = target->Parent();
        next = by_path.find(FoldName(target->ToString()));
      }
      if (next == by_path.end()) break;
      ends.used.insert(next->first);
      at = next->second;
    }
    if (at != &link && at->Text("kind") == "MOUNTED_VOLUME") {
      ends.to_mounts.insert(FoldName(link.Text("path")));
    }
  }
  return ends;
}

// Adds findings about mounts; only about that at `only` if it is not empty.
void LookAtMounts(Rpcs& rpcs, const std::string& only, Findings* findings) {
  const Answer answer = Ask(rpcs, "ListMounts", {}, "mounted folders and links", findings);
  RecordIfIncomplete(answer, "mounted folders and links", findings);
  std::optional<absl::StatusOr<Answer>> mappings;
  std::set<std::string> mute;
  const std::vector<Answer> mounts = answer.Each("mounts");
  const LinkEnds ends = FollowLinks(mounts);
  int not_followed = 0;
  for (const Answer& mount : mounts) {
    const size_t known = findings->found.size();
    const std::string where = mount.Text("path");
    if (!only.empty() && where != only) continue;
    const std::string target = mount.Text("target");
    const std::string state = mount.Text("state");
    const bool is_volume = mount.Text("kind") == "MOUNTED_VOLUME";
    const std::string what =
        absl::StrCat(is_volume ? "volume" : absl::AsciiStrToLower(mount.Text("kind")), " ", target);
    const std::string name = FoldName(where);
    const BrokenLink link{where, target, what,
                          answer.Flag("incomplete") || ends.used.contains(name)};
    if (state == "DANGLING") {
      FindingId id = is_volume ? FindingId("dangling-mount") : FindingId("dangling-link");
      if (ends.to_mounts.contains(name)) id = "link-to-mount";
      if (is_volume && (link.may_be_used || IsPublished(where))) id = "dangling-mount-in-use";
      findings->Add(Make(id, where, what, {}, {{"path", where}, {"target", target}}));
    } else if (state == "DISCONNECTED") {
      if (!mappings.has_value()) {
        // LookAtMappings() reports an error of this call.
        mappings = rpcs.Call("storage", "ListSmbMappings", {});
      }
      findings->Add(MakeOfShareLink(link, *mappings));
    } else if (state == "ALIVE" && !is_volume && !ShareOf(target).empty()) {
      LookAtShareLink(rpcs, link, &mute, findings);
    } else if (state == "UNDETERMINED") {
      const auto there = rpcs.Call("filesystem", "PathExists", {{"path", target}});
      if (absl::IsPermissionDenied(there.status()) && !IsPods(where)) {
        *findings->rest.add_notes() = Make("link-outside", where, what).finding;
      } else {
        ++not_followed;
      }
    } else if (is_volume) {
      findings->volumes.emplace(target, where);
    }
    // A pod may have made the link: its target may exist in the container, or be a share of the
    // pod's choice, and the pod can put another entry in its place.
    if (findings->found.size() > known && IsPods(where)) {
      LeaveAlone("pods-link", &findings->found.back());
    }
  }
  for (const std::string& folder : answer.Texts("filled_staging_folders")) {
    findings->Add(Make("filled-folder", folder, "a plain folder with files"));
  }
  if (not_followed > 0) {
    findings->NotKnown("where ", not_followed, not_followed == 1 ? " link leads" : " links lead",
                       ": out of the working directories, or Windows refused access or did not say "
                       "in time which shares are mapped");
  }
}

// Adds findings about the health of the mounted volumes.
void LookAtHealth(Rpcs& rpcs, Findings* findings) {
  if (findings->volumes.empty()) return;
  Fields ids;
  for (const auto& [id, path] : findings->volumes) ids.emplace_back("volume_ids", id);
  const Answer answer = Ask(rpcs, "ListVolumeHealth", ids, "the health of volumes", findings);
  std::map<std::string, std::vector<std::string>> unknown;  // The volumes by the reason.
  for (const Answer& volume : answer.Each("volumes")) {
    const std::string id = volume.Text("volume_id"), message = volume.Text("message");
    if (volume.Flag("abnormal")) {
      findings->Add(Make("unhealthy-volume", id, message, {findings->volumes[id]}));
    } else if (!message.empty()) {
      unknown[message].push_back(id);
    }
  }
  for (const auto& [reason, volumes] : unknown) {
    const size_t more = volumes.size() - 1;
    findings->CutShort("the health of ", volumes[0],
                       more > 0 ? absl::StrCat(" and ", more, " more") : "", ": ", reason);
  }
}

// Adds findings about mounted volumes of which less than a thousandth is left. A call that runs out
// of time is the last one, because other disks may hang too.
void LookAtSpace(Rpcs& rpcs, Findings* findings) {
  std::vector<std::string> unknown;
  absl::StatusOr<Answer> stats = Answer();
  for (const auto& [id, path] : findings->volumes) {
    if (!absl::IsDeadlineExceeded(stats.status())) {
      stats = rpcs.Call("storage", "GetPathStats", {{"path", path}});
    }
    if (!stats.ok()) {
      unknown.push_back(absl::StrCat(path, ": ", std::string(stats.status().message())));
      continue;
    }
    const uint64_t left = stats->Number("available_bytes"), size = stats->Number("total_bytes");
    if (left >= size / 1000) continue;
    findings->Add(
        Make("full-volume", path, absl::StrCat("volume ", id), {SizeText(left), SizeText(size)}));
  }
  if (unknown.empty()) return;
  findings->CutShort("the free space of ", unknown.size(),
                     unknown.size() == 1 ? " volume, at " : " volumes, as at ", unknown[0]);
}

// Adds findings about global SMB mappings.
void LookAtMappings(Rpcs& rpcs, Findings* findings) {
  const Answer answer = Ask(rpcs, "ListSmbMappings", {}, "SMB mappings", findings);
  RecordIfIncomplete(answer, "links to shares, and therefore leaked mappings", findings);
  const bool knows_links = !answer.Flag("incomplete");
  for (const Answer& mapping : answer.Each("mappings")) {
    const std::string status = mapping.Text("status");
    const std::string share = mapping.Text("remote_path");
    const std::vector<std::string> links = mapping.Texts("links");
    const bool unused = links.empty() && knows_links;
    const bool is_ok = absl::EqualsIgnoreCase(status, "OK");
    if (is_ok && !unused) continue;
    FindingId id = "broken-mapping-in-use";
    if (unused) id = is_ok ? FindingId("leaked-mapping") : FindingId("broken-mapping");
    const std::string why = !links.empty()
                                ? absl::StrCat("links lead to it: ", absl::StrJoin(links, ", "))
                            : knows_links ? "no link leads to it"
                                          : "whether links lead to it is not known";
    FindingWithRepair& found = findings->Add(
        Make(id, share, absl::StrCat("status ", status), {why}, {{"remote_path", share}}));
    if (unused && IsOfFolder(share)) LeaveAlone("folder-mapping", &found);
  }
}

// Adds a finding if the initiator's service does not run although the node is to do iSCSI.
void LookAtInitiator(Rpcs& rpcs, Findings* findings) {
  const absl::StatusOr<Answer> service = rpcs.Call("system", "GetService", {{"name", "MSiSCSI"}});
  if (!service.ok() || service->Text("status") == "RUNNING") return;
  std::string why;
  if (service->Text("start_type") == "AUTOMATIC") why = "it is to start automatically";
  // Windows may show no portal while the service is stopped.
  const absl::StatusOr<Answer> portals = rpcs.Call("iscsi", "ListTargetPortals", {});
  if (portals.ok() && portals->Size("target_portals") > 0) why = "portals are registered";
  if (findings->asks_for_iscsi) why = "clients have asked for iSCSI";
  if (why.empty()) return;
  findings->Add(Make("stopped-initiator", "MSiSCSI", service->Text("display_name"),
                     {absl::AsciiStrToLower(service->Text("status")), why}));
}

// Adds a finding if no disk is listed because the service of WMI's storage classes is disabled.
void LookAtStorageService(Rpcs& rpcs, Findings* findings) {
  if (findings->lists_disks) return;
  const absl::StatusOr<Answer> service = rpcs.Call("system", "GetService", {{"name", "smphost"}});
  if (!service.ok() || service->Text("start_type") != "DISABLED") return;
  if (service->Text("status") == "RUNNING") return;
  findings->Add(Make("stopped-storage-service", "smphost", service->Text("display_name")));
}

// Adds findings of the service's metrics.
void LookAtMetrics(const Catalog& catalog, const FetchMetrics& fetch, Findings* findings) {
  absl::StatusOr<std::string> text = absl::UnavailableError(
      "give --metrics=HOST:PORT, the address at which the service serves its metrics");
  if (fetch != nullptr) text = fetch();
  const absl::StatusOr<top::Numbers> numbers =
      text.ok() ? top::ReadNumbers(*text) : absl::StatusOr<top::Numbers>(text.status());
  if (!numbers.ok()) {
    return findings->NotKnown("long calls, clients at a limit or of old API versions: ",
                              numbers.status().message());
  }
  findings->answered = true;
  findings->asks_for_iscsi = numbers->AsksForIscsi();
  findings->rest.set_flags(ChangedFlagsText(numbers->flags));
  for (const auto& [name, times] : numbers->fallbacks) {
    if (times < 1) continue;
    FallbackTaken& taken = *findings->rest.add_fallbacks();
    taken.set_fallback(name);
    taken.set_times(static_cast<uint64_t>(times));
    for (const FallbackFacts& facts : kFallbacks) {
      if (facts.name == name) taken.set_doubt(static_cast<uint32_t>(facts.doubt));
    }
  }
  const std::string since = numbers->started == absl::InfinitePast()
                                ? ""
                                : absl::StrCat(" at ", UtcText(numbers->started));
  for (const auto& [rpc, seconds] : numbers->long_calls) {
    findings->Add(Make("long-call", rpc, "its object is in the service's log",
                       {absl::StrCat(std::llround(seconds))}));
  }
  std::vector<std::pair<int64_t, std::string>> by_refused;  // The most first.
  for (const auto& [name, rpc] : numbers->rpcs) {
    if (rpc.refused > 0) by_refused.emplace_back(-std::llround(rpc.refused), name);
  }
  std::sort(by_refused.begin(), by_refused.end());
  std::string refused;
  for (size_t i = 0; i < std::min<size_t>(by_refused.size(), 3); ++i) {
    absl::StrAppend(&refused, i > 0 ? ", " : "", by_refused[i].second, " ", -by_refused[i].first);
  }
  for (const auto& [client, times] : numbers->limited) {
    if (!(times > 0)) continue;
    findings->Add(
        Make("limited-client", client.first, absl::StrCat("has met its limit of ", client.second),
             {absl::StrCat(std::llround(times)), since, refused.empty() ? "none" : refused}));
  }
  for (const FlagInForce& flag : numbers->flags) {
    if (!flag.IsFarBelowDefault()) continue;
    findings->Add(Make("low-limit", absl::StrCat("--", flag.name), absl::StrCat(flag.value),
                       {flag.by_default}));
  }
  for (const auto& [caller, calls] : numbers->callers) {
    const auto& [image, group, version] = caller;
    const std::string newer = catalog.Successor(group, version);
    if (newer.empty() || !(calls > 0)) continue;
    const std::string count = absl::StrCat(std::llround(calls), calls == 1 ? " call" : " calls");
    findings->Add(
        Make("old-client", image, absl::StrCat(group, " ", version), {count, since, newer}));
  }
}

}  // namespace

Findings LookAtNode(Rpcs& rpcs, const FetchMetrics* fetch, const LookEnded& ended) {
  Findings findings;
  if (fetch != nullptr) LookAtMetrics(rpcs.catalog(), *fetch, &findings);
  ended(findings);
  LookAtMounts(rpcs, "", &findings);
  ended(findings);
  for (const auto look : {LookAtDisks, LookAtHealth, LookAtSpace, LookAtContents, LookAtMappings,
                          LookAtInitiator, LookAtStorageService}) {
    look(rpcs, &findings);
    ended(findings);
  }
  return findings;
}

Findings LookAgain(Rpcs& rpcs, const Finding& finding) {
  Findings findings;
  const std::string& kind = finding.kind();
  if (kind == kDanglingMounts || kind == kDanglingLinks || kind == kDisconnectedLinks) {
    LookAtMounts(rpcs, finding.where(), &findings);
  } else if (kind == kDisconnectedMappings || kind == kLeakedMappings) {
    LookAtMappings(rpcs, &findings);
  } else {
    LookAtDisks(rpcs, &findings);
  }
  return findings;
}

}  // namespace csi_proxy::ctl::diagnose
