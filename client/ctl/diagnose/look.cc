#include "client/ctl/diagnose/look.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "client/ctl/output.h"
#include "client/ctl/top/numbers.h"
#include "server/base/windows_path.h"

namespace csi_proxy::ctl::diagnose {
namespace {

constexpr char kStorage[] = "storage";

FindingWithRepair Make(const char* kind, std::string where, std::string what, std::string why,
                       std::string repair) {
  FindingWithRepair found;
  found.finding.set_kind(kind);
  found.finding.set_where(std::move(where));
  found.finding.set_what(std::move(what));
  found.finding.set_why(std::move(why));
  found.finding.set_repair(std::move(repair));
  return found;
}

void RepairBy(FindingWithRepair* found, const char* group, const char* method, Fields fields) {
  found->finding.set_can_be_repaired(true);
  found->group = group;
  found->method = method;
  found->fields = std::move(fields);
}

// Calls a method. On failure returns an empty answer and adds a remark. Sets `*status`, if not
// null, to the call's status.
Answer Ask(Rpcs& rpcs, const char* method, const Fields& fields, absl::string_view what,
           Findings* findings, absl::Status* status = nullptr) {
  absl::StatusOr<Answer> answer = rpcs.Call(kStorage, method, fields);
  if (status != nullptr) *status = answer.status();
  if (answer.ok()) {
    findings->answered = true;
    return *std::move(answer);
  }
  findings->not_known.push_back(absl::StrCat(what, ": ",
                                             absl::StatusCodeToString(answer.status().code()), ": ",
                                             std::string(answer.status().message())));
  if (findings->error.ok()) findings->error = answer.status();
  return Answer();
}

void RecordIfIncomplete(const Answer& answer, absl::string_view what, Findings* findings) {
  if (!answer.Flag("incomplete")) return;
  findings->cut_short = true;
  findings->not_known.push_back(
      absl::StrCat(what, ": there are more directories than the service reads"));
}

// Returns the properties that distinguish a disk from a later disk with the same number.
std::string Describe(const Answer& disk) {
  std::vector<std::string> parts;
  const auto add = [&parts](const char* name, const std::string& value) {
    if (!value.empty()) parts.push_back(absl::StrCat(name, value));
  };
  add("", disk.Text("bus_type"));
  parts.push_back(absl::StrCat(disk.Number("size_bytes"), " bytes"));
  add("serial ", disk.Text("serial_number"));
  add("page 83 ", disk.Text("page83"));
  add("unique id ", disk.Text("unique_id"));
  return absl::StrJoin(parts, ", ");
}

FindingWithRepair MakeOfDisk(const char* kind, const Answer& disk, std::string why,
                             std::string repair) {
  FindingWithRepair found = Make(kind, absl::StrCat("disk ", disk.Number("number")), Describe(disk),
                                 std::move(why), std::move(repair));
  found.finding.set_size_bytes(static_cast<int64_t>(disk.Number("size_bytes")));
  return found;
}

// Adds a finding if the volume has a fault, and a remark if its health is not known. Returns false
// if Windows did not answer in time; then it would not answer for other volumes either.
bool LookAtVolume(Rpcs& rpcs, const std::string& volume, const std::string& path,
                  Findings* findings) {
  const std::string what = absl::StrCat("the health of ", volume);
  absl::Status status;
  const Answer health =
      Ask(rpcs, "GetVolumeHealth", {{"volume_id", volume}}, what, findings, &status);
  if (absl::IsDeadlineExceeded(status)) return false;
  if (!health.Flag("abnormal")) {
    const std::string unknown = health.Text("message");
    if (unknown.empty()) return true;
    findings->cut_short = true;
    findings->not_known.push_back(absl::StrCat(what, ": ", unknown));
    return false;
  }
  findings->found.push_back(
      Make(kUnhealthyVolumes, volume, health.Text("message"), absl::StrCat("mounted at ", path),
           "none: check the file system (Repair-Volume) when no pod uses it, or replace the disk"));
  return true;
}

// Returns `\\host\share` of a path on a server; empty for any other path.
std::string ShareOf(absl::string_view path) {
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '\\');
  const bool is_unc = parts.size() >= 4 && parts[0].empty() && parts[1].empty();
  if (!is_unc || parts[2] == "?" || parts[2] == ".") return "";
  return absl::StrCat("\\\\", parts[2], "\\", parts[3]);
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

// Makes the finding advise no repair, because a pod may have made the link: its target may exist in
// the container, or be a share of the pod's choice, and the pod can put another entry in its place.
void LeaveToPod(FindingWithRepair* found) {
  found->group.clear();
  found->finding.set_can_be_repaired(false);
  found->finding.set_repair(
      "none: a pod can write to the directory, so the link may be its own; it goes with the pod");
}

// Returns the finding about a link to a share, or to another link, that cannot be followed.
// `mappings` is the answer of ListSmbMappings; if that failed, the finding has no repair.
FindingWithRepair MakeOfShareLink(const std::string& where, const std::string& target,
                                  std::string what, const absl::StatusOr<Answer>& mappings) {
  const std::string share = ShareOf(target);
  if (share.empty()) {
    return Make(kDisconnectedLinks, where, std::move(what),
                "it leads to a link whose share has no mapping",
                absl::StrCat("none: repair the link ", target,
                             "; if that is gone, a new pod gets a new link"));
  }
  if (!mappings.ok()) {
    return Make(kDisconnectedLinks, where, std::move(what),
                "the node has no working mapping of the share", "none: " + MapByHand(share));
  }
  for (const Answer& mapping : mappings->Each("mappings")) {
    if (!absl::EqualsIgnoreCase(mapping.Text("remote_path"), share)) continue;
    return Make(
        kDisconnectedLinks, where, std::move(what),
        absl::StrCat("Windows shows the share's mapping as ", mapping.Text("status")),
        absl::StrCat("none: it works again when the server answers; if the password has changed, ",
                     MapByHand(share)));
  }
  // While a staging link exists, the kubelet takes the volume for staged and calls no driver.
  const bool is_staging = absl::StrContains(absl::AsciiStrToLower(where), "\\plugins\\");
  const Fields fields = {{"path", where}, {"target", target}};
  FindingWithRepair found = Make(
      kDisconnectedLinks, where, std::move(what), "the node has no mapping of the share",
      is_staging
          ? absl::StrCat("removes only the link, so that the driver stages the volume again when a "
                         "pod needs it; or ",
                         MapByHand(share))
          : absl::StrCat("none: ", MapByHand(share), ", or remove the link: ",
                         PowerShellCommand("csi-proxyctl storage remove-mount", fields)));
  if (is_staging) RepairBy(&found, kStorage, "RemoveMount", fields);
  return found;
}

// Adds a finding if a link cannot be followed although the mapping of its share shows as OK.
void LookAtShareLink(Rpcs& rpcs, const std::string& where, const std::string& target,
                     std::string what, Findings* findings) {
  const absl::StatusOr<Answer> answer = rpcs.Call("filesystem", "IsSymlink", {{"path", where}});
  if (!answer.ok()) {
    findings->not_known.push_back(absl::StrCat(
        "whether ", where, " can be followed: ", std::string(answer.status().message())));
    return;
  }
  if (answer->Flag("is_symlink")) return;
  findings->found.push_back(Make(
      kDisconnectedLinks, where, std::move(what),
      "Windows shows the share's mapping as OK, but the server denies access, lacks the folder, or "
      "does not answer",
      absl::StrCat("none: check the folder and its permissions on the server; if they are right, ",
                   MapByHand(ShareOf(target)))));
}

constexpr char kOfFolder[] =
    "none: csi-proxy can remove only mappings of shares, not of folders; remove it on the node "
    "with Remove-SmbGlobalMapping";

// Returns true for a mapping of a folder in a share, `\\host\share\folder`. Removing it by this
// path would remove the mapping of the share instead.
bool IsOfFolder(const std::string& remote_path) {
  return std::count(remote_path.begin(), remote_path.end(), '\\') > 3;
}

}  // namespace

void LookAtDisks(Rpcs& rpcs, Findings* findings) {
  const Answer answer = Ask(rpcs, "ListDisks", {}, "disks", findings);
  std::map<std::string, std::vector<std::string>> by_id;
  std::map<std::string, int> with_unique_id;
  for (const Answer& disk : answer.Each("disks")) {
    if (const std::string id = disk.Text("page83"); !id.empty()) {
      by_id[id].push_back(absl::StrCat(disk.Number("number")));
    }
    ++with_unique_id[disk.Text("unique_id")];
  }
  // Two disks with one id may be two paths to one LUN. Writes to both would destroy its file
  // system.
  const auto has_twin = [&](const Answer& disk) {
    const std::string unique_id = disk.Text("unique_id");
    return by_id[disk.Text("page83")].size() > 1 ||
           (!unique_id.empty() && with_unique_id[unique_id] > 1);
  };
  for (const auto& [id, numbers] : by_id) {
    if (numbers.size() < 2) continue;
    findings->found.push_back(Make(
        kDuplicateIds, absl::StrCat("disks ", absl::StrJoin(numbers, ", ")),
        absl::StrCat("page 83 ", id), "drivers find disks by this identifier",
        "none: give each LUN an identifier of its own where it is exported; if they are paths to "
        "one LUN, let MPIO claim it"));
  }
  for (const Answer& disk : answer.Each("disks")) {
    const std::string number = absl::StrCat(disk.Number("number"));
    const std::string reason = disk.Text("offline_reason");
    const bool is_windows = disk.Flag("is_boot") || disk.Flag("is_system");
    const char* const never = "none: Windows runs on it or starts from it";
    if (!disk.Flag("is_online") && absl::EqualsIgnoreCase(reason, "Collision")) {
      findings->found.push_back(MakeOfDisk(
          kCollidingDisks, disk,
          "offline because another disk has the same signature or id: a clone or a snapshot",
          absl::StrCat("none: decide which of the two disks to keep; detach the other, or give it "
                       "a new id (diskpart: uniqueid disk); then csi-proxyctl disk "
                       "set-disk-state --disk-number=",
                       number, " --is-online")));
      continue;
    }
    if (!disk.Flag("is_online") &&
        (absl::EqualsIgnoreCase(reason, "Redundant Path") || has_twin(disk))) {
      findings->found.push_back(MakeOfDisk(
          kOfflineDisks, disk,
          absl::StrCat("offline as a second path to a LUN, or a copy of another disk",
                       reason.empty() ? "" : "; Windows says: ", reason),
          "none: with both disks online, writes to them would destroy the file system. If it is a "
          "second path, let MPIO claim the disks (`Enable-MSDSMAutomaticClaim`), and restart the "
          "node"));
      continue;
    }
    if (!disk.Flag("is_online")) {
      FindingWithRepair found = MakeOfDisk(
          kOfflineDisks, disk,
          reason.empty() ? "Windows does not say why" : absl::StrCat("Windows says: ", reason),
          is_windows ? never
                     : "brings it online; no fault if a driver left it offline after it unstaged "
                       "the volume");
      if (!is_windows) {
        RepairBy(&found, "disk", "SetDiskState", {{"disk_number", number}, {"is_online", "true"}});
      }
      findings->found.push_back(std::move(found));
    }
    if (disk.Flag("is_read_only")) {
      FindingWithRepair found = MakeOfDisk(
          kReadOnlyDisks, disk, "its read-only flag in Windows is set",
          is_windows
              ? never
              : "clears the flag; a disk that its storage exports as read-only stays read-only");
      if (!is_windows) {
        RepairBy(&found, kStorage, "SetDiskReadOnly",
                 {{"disk_number", number}, {"read_only", "false"}});
      }
      findings->found.push_back(std::move(found));
    }
  }
}

void LookAtMounts(Rpcs& rpcs, const std::string& path, Findings* findings) {
  const Answer answer =
      Ask(rpcs, "ListMounts", {{"path", path}}, "mounted folders and links", findings);
  RecordIfIncomplete(answer, "mounted folders and links", findings);
  std::map<std::string, std::string> volumes;  // Volume id to one mount path.
  std::optional<absl::StatusOr<Answer>> mappings;
  int not_followed = 0;
  for (const Answer& mount : answer.Each("mounts")) {
    const size_t known = findings->found.size();
    const std::string where = mount.Text("path");
    const std::string target = mount.Text("target");
    const std::string state = mount.Text("state");
    const bool is_volume = mount.Text("kind") == "MOUNTED_VOLUME";
    const std::string what =
        absl::StrCat(is_volume ? "volume" : absl::AsciiStrToLower(mount.Text("kind")), " ", target);
    if (state == "DANGLING") {
      FindingWithRepair found =
          is_volume ? Make(kDanglingMounts, where, what,
                           "the volume is gone: its disk was detached or is offline",
                           "removes only the mounted folder; if the disk is offline or can be "
                           "attached again, do that instead")
                    : Make(kDanglingLinks, where, what, "its target does not exist",
                           "removes only the link");
      if (target.empty()) {
        found.finding.set_repair("none: its target cannot be shown; look at it on the node");
      } else {
        RepairBy(&found, kStorage, "RemoveMount", {{"path", where}, {"target", target}});
      }
      findings->found.push_back(std::move(found));
    } else if (state == "DISCONNECTED") {
      if (!mappings.has_value()) {
        // LookAtMappings() reports an error of this call.
        mappings = rpcs.Call(kStorage, "ListSmbMappings", {});
      }
      findings->found.push_back(MakeOfShareLink(where, target, what, *mappings));
    } else if (state == "ALIVE" && !is_volume && !ShareOf(target).empty()) {
      LookAtShareLink(rpcs, where, target, what, findings);
    } else if (state == "UNDETERMINED") {
      ++not_followed;
    } else if (is_volume) {
      volumes.emplace(target, where);
    }
    if (findings->found.size() > known && IsPods(where)) LeaveToPod(&findings->found.back());
  }
  if (not_followed > 0) {
    findings->not_known.push_back(
        absl::StrCat("where ", not_followed, not_followed == 1 ? " link leads" : " links lead",
                     ": out of the working directories, or Windows refused access or did not say "
                     "in time which shares are mapped"));
  }
  for (const auto& [volume, mounted_at] : volumes) {
    if (LookAtVolume(rpcs, volume, mounted_at, findings)) continue;
    findings->not_known.emplace_back(
        "the health of further volumes: not queried, because Windows did not answer");
    break;
  }
}

void LookAtMappings(Rpcs& rpcs, Findings* findings) {
  const Answer answer = Ask(rpcs, "ListSmbMappings", {}, "SMB mappings", findings);
  RecordIfIncomplete(answer, "links to shares, and therefore leaked mappings", findings);
  const bool knows_links = !answer.Flag("incomplete");
  for (const Answer& mapping : answer.Each("mappings")) {
    const std::string status = mapping.Text("status");
    const std::string share = mapping.Text("remote_path");
    const std::vector<std::string> links = mapping.Texts("links");
    const bool unused = links.empty() && knows_links;
    const bool removable = unused && !IsOfFolder(share);
    if (absl::EqualsIgnoreCase(status, "OK")) {
      if (!unused) continue;
      FindingWithRepair found =
          Make(kLeakedMappings, share, "status OK",
               "no link uses it: the driver that made it did not remove it",
               removable ? "removes the mapping if still no link uses it; a program that opens the "
                           "share by its name loses access"
                         : kOfFolder);
      if (removable) RepairBy(&found, kStorage, "UnstageShare", {{"remote_path", share}});
      findings->found.push_back(std::move(found));
      continue;
    }
    FindingWithRepair found =
        Make(kDisconnectedMappings, share, absl::StrCat("status ", status),
             !links.empty() ? absl::StrCat("links lead to it: ", absl::StrJoin(links, ", "))
             : knows_links  ? "no link leads to it"
                            : "whether links lead to it is not known",
             removable ? "removes the mapping; a driver makes it again when it needs it"
             : unused  ? kOfFolder
                       : "none: it may work again when the server does; a driver that stages the "
                         "volume again makes it again");
    if (removable) RepairBy(&found, kStorage, "UnstageShare", {{"remote_path", share}});
    findings->found.push_back(std::move(found));
  }
}

void LookAtMetrics(const Catalog& catalog, const FetchMetrics& fetch, Findings* findings) {
  const auto not_known = [findings](absl::string_view why) {
    findings->not_known.push_back(absl::StrCat("clients of old API versions: ", why));
  };
  if (fetch == nullptr) {
    not_known("give --metrics=HOST:PORT, the address at which the service serves its metrics");
    return;
  }
  const absl::StatusOr<std::string> text = fetch();
  if (!text.ok()) return not_known(text.status().message());
  const absl::StatusOr<top::Numbers> numbers = top::ReadNumbers(*text);
  if (!numbers.ok()) return not_known(numbers.status().message());
  const std::string since = numbers->started == absl::InfinitePast()
                                ? ""
                                : absl::StrCat(" at ", UtcText(numbers->started));
  for (const auto& [name, times] : numbers->fallbacks) {
    if (times >= 1) findings->fallbacks[name] = static_cast<uint64_t>(times);
  }
  for (const auto& [rpc, seconds] : numbers->long_calls) {
    findings->found.push_back(Make(
        kLongCalls, rpc, "its object is in the service's log",
        absl::StrCat("has run for ", std::llround(seconds), " s; calls for the same object wait"),
        "none: repair what the call waits for (a disk, a server, WMI); a restart of the service "
        "ends the call"));
  }
  for (const auto& [caller, calls] : numbers->callers) {
    const auto& [image, group, version] = caller;
    const std::string newer = catalog.Successor(group, version);
    if (newer.empty() || !(calls > 0)) continue;
    findings->found.push_back(Make(
        kOldClients, image, absl::StrCat(group, " ", version),
        absl::StrCat(calls, calls == 1 ? " call" : " calls", " since the service began", since),
        absl::StrCat("none: update the driver to one that calls ", newer,
                     "; the count starts again when the service restarts")));
  }
}

Findings LookAtNode(Rpcs& rpcs) {
  Findings findings;
  LookAtDisks(rpcs, &findings);
  LookAtMounts(rpcs, "", &findings);
  LookAtMappings(rpcs, &findings);
  const auto rank = [](const FindingWithRepair& found) {
    return std::find(std::begin(kKinds), std::end(kKinds), found.finding.kind()) -
           std::begin(kKinds);
  };
  std::stable_sort(
      findings.found.begin(), findings.found.end(),
      [&](const FindingWithRepair& a, const FindingWithRepair& b) { return rank(a) < rank(b); });
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
