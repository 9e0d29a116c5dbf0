#include "client/ctl/diagnose/look.h"

#include <cmath>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "client/ctl/output.h"
#include "server/base/fallbacks.h"

namespace csi_proxy::ctl::diagnose {
namespace {

// Returns a text of the table of findings with `$0`, `$1` ... replaced.
std::string Filled(const char* text, const std::vector<std::string>& arguments) {
  std::vector<std::pair<std::string, std::string>> values;
  for (size_t i = 0; i < arguments.size(); ++i) {
    values.emplace_back(absl::StrCat("$", i), arguments[i]);
  }
  return absl::StrReplaceAll(text, values);
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
  FindingWithRepair found(id, absl::StrCat("disk ", disk.Text("number")), Describe(disk), arguments,
                          std::move(fields));
  found.finding.set_size_bytes(static_cast<int64_t>(disk.Number("size_bytes")));
  return found;
}

// Adds findings about disks. Two disks with one id may be two paths to one LUN.
void LookAtDisks(Rpcs& rpcs, Findings* findings) {
  const Answer answer = findings->Ask(rpcs, "ListDisks", {}, "disks");
  findings->lists_disks = answer.Size("disks") > 0;
  std::map<std::string, std::vector<std::string>> by_id;
  for (const Answer& disk : answer.Each("disks")) {
    const std::string number = disk.Text("number");
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
    if (shown.insert(where).second) findings->Add({"duplicate-id", where, id});
  }
  for (const Answer& disk : answer.Each("disks")) {
    const std::string number = disk.Text("number");
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
      found.Advise("windows-disk");
    } else if (is_online && twins.contains(number)) {
      found.Advise("twin-disk");
    }
    findings->Add(std::move(found));
  }
}

// Adds findings about disks whose content Windows does not recognise.
void LookAtContents(Rpcs& rpcs, Findings* findings) {
  if (!findings->lists_disks) return;
  const Answer answer =
      findings->Ask(rpcs, "ListDisks", {{"read_content", "true"}}, "the content of disks");
  for (const Answer& disk : answer.Each("disks")) {
    const std::string content = disk.Text("content");
    if (absl::StartsWith(content, "not known: ")) {
      findings->CutShort("the content of disk ", disk.Text("number"), ": ", content);
    } else if (!content.empty()) {
      findings->Add(MakeOfDisk("foreign-disk", disk, {content}));
    }
  }
}

// Adds findings about the health of the mounted volumes.
void LookAtHealth(Rpcs& rpcs, Findings* findings) {
  if (findings->volumes.empty()) return;
  Fields ids;
  for (const auto& [id, path] : findings->volumes) ids.emplace_back("volume_ids", id);
  const Answer answer = findings->Ask(rpcs, "ListVolumeHealth", ids, "the health of volumes");
  std::map<std::string, std::vector<std::string>> unknown;  // Volumes, keyed by the reason.
  for (const Answer& volume : answer.Each("volumes")) {
    const std::string id = volume.Text("volume_id"), message = volume.Text("message");
    if (volume.Flag("abnormal")) {
      findings->Add({"unhealthy-volume", id, message, {findings->volumes[id]}});
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

// Adds findings about mounted volumes that have less than a thousandth of their space left. A call
// that runs out of time is the last one, because other disks may hang too.
void LookAtSpace(Rpcs& rpcs, Findings* findings) {
  std::vector<std::string> unknown;
  absl::StatusOr<Answer> stats = Answer();
  for (const auto& [id, path] : findings->volumes) {
    if (!absl::IsDeadlineExceeded(stats.status())) {
      stats = rpcs.Call("storage.GetPathStats", {{"path", path}});
    }
    if (!stats.ok()) {
      unknown.push_back(absl::StrCat(path, ": ", std::string(stats.status().message())));
      continue;
    }
    const uint64_t left = stats->Number("available_bytes"), size = stats->Number("total_bytes");
    if (left >= size / 1000) continue;
    findings->Add(
        {"full-volume", path, absl::StrCat("volume ", id), {SizeText(left), SizeText(size)}});
  }
  if (unknown.empty()) return;
  findings->CutShort("the free space of ", unknown.size(),
                     unknown.size() == 1 ? " volume, at " : " volumes, as at ", unknown[0]);
}

// Adds a finding if the initiator's service does not run although the node seems to use iSCSI.
void LookAtInitiator(Rpcs& rpcs, Findings* findings) {
  const absl::StatusOr<Answer> service = rpcs.Call("system.GetService", {{"name", "MSiSCSI"}});
  if (!service.ok() || service->Text("status") == "RUNNING") return;
  std::string why;
  if (service->Text("start_type") == "AUTOMATIC") why = "it is to start automatically";
  // Windows may list no portal while the service is stopped, so the start type and the metrics
  // count too.
  const absl::StatusOr<Answer> portals = rpcs.Call("iscsi.ListTargetPortals");
  if (portals.ok() && portals->Size("target_portals") > 0) why = "portals are registered";
  if (findings->asks_for_iscsi) why = "clients have asked for iSCSI";
  if (why.empty()) return;
  findings->Add({"stopped-initiator",
                 "MSiSCSI",
                 service->Text("display_name"),
                 {absl::AsciiStrToLower(service->Text("status")), why}});
}

// Adds a finding if no disk is listed because the service of WMI's storage classes is disabled.
void LookAtStorageService(Rpcs& rpcs, Findings* findings) {
  if (findings->lists_disks) return;
  const absl::StatusOr<Answer> service = rpcs.Call("system.GetService", {{"name", "smphost"}});
  if (!service.ok() || service->Text("start_type") != "DISABLED") return;
  if (service->Text("status") == "RUNNING") return;
  findings->Add({"stopped-storage-service", "smphost", service->Text("display_name")});
}

// Adds findings from the service's metrics.
void LookAtMetrics(const Catalog& catalog, const top::FetchMetrics& fetch, Findings* findings) {
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
    findings->Add({"long-call",
                   rpc,
                   "its object is in the service's log",
                   {absl::StrCat(std::llround(seconds))}});
  }
  std::set<std::pair<int64_t, std::string>> by_refused;  // The most refused first.
  for (const auto& [name, rpc] : numbers->rpcs) {
    if (rpc.refused > 0) by_refused.emplace(-std::llround(rpc.refused), name);
  }
  std::vector<std::string> refused;
  for (const auto& [times, name] : by_refused) {
    if (refused.size() < 3) refused.push_back(absl::StrCat(name, " ", -times));
  }
  for (const auto& [client, times] : numbers->limited) {
    if (!(times > 0)) continue;
    findings->Add({"limited-client",
                   client.first,
                   absl::StrCat("has met its limit of ", client.second),
                   {absl::StrCat(std::llround(times)), since,
                    refused.empty() ? "none" : absl::StrJoin(refused, ", ")}});
  }
  for (const FlagInForce& flag : numbers->flags) {
    if (!flag.IsFarBelowDefault()) continue;
    findings->Add(
        {"low-limit", absl::StrCat("--", flag.name), absl::StrCat(flag.value), {flag.by_default}});
  }
  for (const auto& [caller, calls] : numbers->callers) {
    const auto& [image, group, version] = caller;
    const std::string newer = catalog.Successor(group, version);
    if (newer.empty() || !(calls > 0)) continue;
    findings->Add({"old-client",
                   image,
                   absl::StrCat(group, " ", version),
                   {Counted(std::llround(calls), "call"), since, newer}});
  }
}

}  // namespace

FindingWithRepair::FindingWithRepair(FindingId id, std::string where, std::string what,
                                     const std::vector<std::string>& arguments, Fields for_repair)
    : advice(id), fields(std::move(for_repair)) {
  finding.set_kind(id->kind);
  finding.set_where(std::move(where));
  finding.set_what(std::move(what));
  finding.set_why(Filled(id->why, arguments));
  Advise(id, arguments);
}

void FindingWithRepair::Advise(FindingId id, const std::vector<std::string>& arguments) {
  advice = id;
  finding.set_id(id->name);
  finding.set_repair(Filled(id->advice, arguments));
  finding.set_can_be_repaired(id->repair != nullptr);
}

void Findings::Add(FindingWithRepair one) {
  if (one.advice->is_note) {
    *rest.add_notes() = std::move(one.finding);
  } else {
    found.push_back(std::move(one));
  }
}

Answer Findings::Ask(Rpcs& rpcs, const std::string& method, const Fields& fields,
                     absl::string_view what) {
  absl::StatusOr<Answer> answer = rpcs.Call("storage." + method, fields);
  if (answer.ok()) {
    answered = true;
    return *std::move(answer);
  }
  NotKnown(what, ": ", StatusText(answer.status()));
  error.Update(answer.status());
  return Answer();
}

Findings LookAtNode(Rpcs& rpcs, const top::FetchMetrics* fetch, const LookEnded& ended) {
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
