// Looks at mounted folders, links and SMB mappings.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/ctl/diagnose/look.h"
#include "client/ctl/output.h"
#include "server/names/windows_path.h"

namespace csi_proxy::ctl::diagnose {
namespace {

// Returns `\\host\share` of a path on a server.
std::string ShareOf(const UncPath& path) {
  return absl::StrCat("\\\\", path.host(), "\\", path.share());
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

// Returns true for a path like `C:\k\pods` or `C:\k\plugins`. Only the service knows whether `C:\k`
// is a working directory.
bool MayBeKubelets(const std::string& where) {
  const absl::StatusOr<WindowsPath> path = WindowsPath::Parse("path", where);
  if (!path.ok() || path->components().empty()) return false;
  const std::vector<std::string>& names = path->components();
  return std::find_if(names.begin(), names.end(), IsKubeletsFolder) == std::prev(names.end());
}

// Returns true if `where` contains `folder`, and contains no `other` before it.
bool IsBelow(const std::string& where, const char* folder, const char* other) {
  const std::string path = absl::AsciiStrToLower(where);
  return path.find(folder) < path.find(other);
}
// Return true for a path at which a driver stages a volume, or publishes one to a pod.
bool IsStaged(const std::string& where) { return IsBelow(where, "\\plugins\\", "\\pods\\"); }
bool IsPublished(const std::string& where) { return IsBelow(where, "\\pods\\", "\\plugins\\"); }

// A mounted folder or a link. Either may be broken.
struct BrokenLink {
  std::string where, target, what;
  // True if other links may lead to the entry.
  bool may_be_used = false;
};

// Returns the finding about a broken link. `mappings` is the answer of ListSmbMappings.
FindingWithRepair BrokenShareLink(const BrokenLink& link, const absl::StatusOr<Answer>& mappings) {
  const auto make = [&](FindingId id, const std::vector<std::string>& arguments,
                        const Fields& fields = {}) {
    return FindingWithRepair(id, link.where, link.what, arguments, fields);
  };
  const absl::StatusOr<UncPath> target = UncPath::Parse("", link.target);
  if (!target.ok()) return make("link-to-link", {link.target});
  const std::string share = ShareOf(*target), map = MapByHand(share);
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
  // While a staging link exists, the kubelet considers the volume staged and calls no driver.
  if (!IsStaged(link.where)) {
    return make("published-link",
                {map, PowerShellCommand("csi-proxyctl storage remove-mount", fields)});
  }
  if (link.may_be_used) return make("staging-link-in-use", {map});
  return make("staging-link", {map}, fields);
}

// Adds a finding if a link to `target` cannot be followed although the mapping of its share shows
// as OK. Does not follow links to servers in `mute`. Adds a server to `mute` if it does not answer.
void LookAtShareLink(Rpcs& rpcs, const BrokenLink& link, const UncPath& target,
                     std::set<std::string>* mute, Findings* findings) {
  if (mute->contains(target.host())) return;
  const absl::StatusOr<Answer> answer = rpcs.Call("filesystem.IsSymlink", {{"path", link.where}});
  if (absl::IsDeadlineExceeded(answer.status())) mute->insert(target.host());
  if (!answer.ok()) {
    findings->NotKnown("whether ", link.where,
                       mute->contains(target.host()) ? ", and other links to its server," : "",
                       " can be followed: ", answer.status().message());
  } else if (!answer->Flag("is_symlink")) {
    findings->Add({"link-denied", link.where, link.what, {MapByHand(ShareOf(target))}});
  }
}

// Paths of mounted folders and links, as FoldName() returns them.
struct LinkEnds {
  // The nearest entry at or above the target of each link.
  std::set<std::string> used;
  // The links that lead to a mounted folder or to a path below one.
  std::set<std::string> to_mounts;
};

LinkEnds FollowLinks(const std::vector<Answer>& mounts) {
  std::map<std::string, const Answer*> by_path;
  for (const Answer& mount : mounts) by_path.emplace(FoldName(mount.Text("path")), &mount);
  LinkEnds ends;
  for (const Answer& link : mounts) {
    const Answer* at = &link;
    // The number of steps is limited, because links may lead in a circle.
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

}  // namespace

void LookAtMounts(Rpcs& rpcs, const std::string& only, Findings* findings) {
  constexpr char kWhat[] = "mounted folders and links";
  const Answer answer = findings->Ask(rpcs, "ListMounts", {}, kWhat);
  findings->CutShortIfIncomplete(answer, kWhat);
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
      findings->Add({id, where, what, {}, {{"path", where}, {"target", target}}});
    } else if (state == "DISCONNECTED") {
      if (!mappings.has_value()) {
        // LookAtMappings() reports an error of this call.
        mappings = rpcs.Call("storage.ListSmbMappings");
      }
      findings->Add(BrokenShareLink(link, *mappings));
    } else if (const auto share = UncPath::Parse("", target);
               state == "ALIVE" && !is_volume && share.ok()) {
      LookAtShareLink(rpcs, link, *share, &mute, findings);
    } else if (state == "UNDETERMINED") {
      const auto there = rpcs.Call("filesystem.PathExists", {{"path", target}});
      if (absl::IsPermissionDenied(there.status()) && !IsPods(where)) {
        findings->Add({"link-outside", where, what});
      } else {
        ++not_followed;
      }
    } else if (is_volume) {
      findings->volumes.emplace(target, where);
    }
    // A link that a pod may have made is not repaired: its target may exist in the container or be
    // a share of the pod's choice, and the pod can replace the link.
    if (findings->found.size() > known && IsPods(where)) {
      findings->found.back().Advise("pods-link");
    } else if (findings->found.size() > known && MayBeKubelets(where)) {
      findings->found.back().Advise("kubelets-entry");
    }
  }
  for (const std::string& folder : answer.Texts("filled_staging_folders")) {
    findings->Add({"filled-folder", folder, "a plain folder with files"});
  }
  if (not_followed > 0) {
    findings->NotKnown("where ", not_followed, not_followed == 1 ? " link leads" : " links lead",
                       ": out of the working directories, or Windows refused access or did not say "
                       "in time which shares are mapped");
  }
}

void LookAtMappings(Rpcs& rpcs, Findings* findings) {
  const Answer answer = findings->Ask(rpcs, "ListSmbMappings", {}, "SMB mappings");
  findings->CutShortIfIncomplete(answer, "links to shares, and therefore leaked mappings");
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
    findings->Add({id, share, absl::StrCat("status ", status), {why}, {{"remote_path", share}}});
    // UnstageShare with a folder's path would remove the mapping of the whole share instead.
    const absl::StatusOr<UncPath> path = UncPath::Parse("", share);
    if (unused && (!path.ok() || !path->components().empty())) {
      findings->found.back().Advise("folder-mapping");
    }
  }
}

}  // namespace csi_proxy::ctl::diagnose
