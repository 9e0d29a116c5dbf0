// The links and mounted folders of a directory tree, found by handle and not followed.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/machine/os.h"
#include "server/names/windows_path.h"

namespace csi_proxy::host {

enum class LinkKind { kMountedVolume, kSymlink, kJunction };

// The end of a link, after the links behind it are followed as ResolvePath() follows them.
enum class LinkEnd {
  // A directory, or a volume that the node has.
  kThere,
  // Missing, a file, a volume on a missing or offline disk, or a circle of links.
  kNowhere,
  // A share. Its server is not accessed.
  kOnServer,
  // Unknown: the end is outside the roots, Windows refused, or the time was over.
  kUnknown,
};

struct FoundLink {
  std::string path;
  LinkKind kind = LinkKind::kSymlink;
  // Spelt as in LinkInfo. Empty if the target cannot be read or is not printable.
  std::string target;
  LinkEnd end = LinkEnd::kUnknown;
  // For kOnServer: UncPath::Share() of the target, and the target's folder.
  std::string share;
  std::string folder;
};

struct LinkList {
  // Sorted by path.
  std::vector<FoundLink> links;
  // True if links may be missing, or may be kUnknown although they could have been followed.
  bool incomplete = false;
  // True if links of the kubelet or of a driver may be missing. False if the walk skipped only
  // directories without such links: those that a pod can write (see ListLinks()), and those deeper
  // than LinkWalkLimits::depth.
  bool incomplete_outside_pods = false;
  // The kubelet's staging folders, IsStagingFolder(), that are plain directories with an entry
  // other than a link. Sorted.
  std::vector<std::string> filled_staging_folders;
};

// The limits of one walk. If content of pods reaches them, other links are still found.
struct LinkWalkLimits {
  // Entries seen. A file costs only its line in a listing; directories and links cost calls.
  size_t entries = 500'000;
  // Entries and links of a directory that one turn reads; then other directories have their turn.
  size_t entries_at_once = 2'000;
  size_t links_at_once = 128;
  // Directories below the start of the walk.
  size_t depth = 64;
  // Bytes of the paths of pending directories.
  size_t pending_bytes = size_t{8} << 20;
  // Bytes of the result's texts. They must fit into one gRPC message of at most 4 MiB.
  size_t found_bytes = size_t{1} << 20;
  // Time of the walk. Also at most 3/4 of the call's remaining time, so that the call can answer.
  absl::Duration time = absl::Seconds(10);
};

// Returns the directory links and mounted folders at and below `starts`. A root among the starts is
// followed if it is a link, and skipped if it is absent. NOT_FOUND if another start is absent,
// PERMISSION_DENIED if the path to a start leads out of its roots.
//
// Links of the kubelet and of drivers are first: the walk reads the directories that a pod can
// write (IsPodsDirectory()) after all other directories and links. In each of the two parts,
// directories near the starts are first and large ones last. The walk does not lock entries: they
// can be renamed or deleted, and entries that disappear are skipped. An entry with a name that no
// WindowsPath can represent is skipped with all entries below it, because a call cannot name them.
absl::StatusOr<LinkList> ListLinks(machine::Os& os, const CallContext& context,
                                   const std::vector<ConfinedPath>& starts,
                                   const LinkWalkLimits& limits = {});

}  // namespace csi_proxy::host
