// Finds the links and mounted folders in directory trees, and where each of them leads.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/host/host_deps.h"
#include "server/names/windows_path.h"

namespace csi_proxy::host {

enum class LinkKind { kMountedVolume, kSymlink, kJunction };

// What a link leads to in the end, through all further links. LinkEnds follows these links by the
// rules of ResolvePath().
enum class LinkEnd {
  // A directory, or a volume that the node has.
  kThere,
  // Nothing, a file, a volume on a missing or offline disk, or more links than a path may have.
  kNowhere,
  // A share. Its server is not accessed.
  kOnServer,
  // Unknown, because the end is outside the roots, FoundLink::target is empty, Windows refused, or
  // the time of the walk was over.
  kUnknown,
};

struct FoundLink {
  std::string path;
  LinkKind kind = LinkKind::kSymlink;
  // In the spelling of LinkInfo::target. Empty if the target cannot be read or is not printable.
  std::string target;
  LinkEnd end = LinkEnd::kUnknown;
  // For kOnServer: UncPath::Share() and UncPath::ToString() of the link's end.
  std::string share;
  std::string folder;
};

struct LinkList {
  // Sorted by path.
  std::vector<FoundLink> links;
  // True if links may be missing, or if links were not followed because the time was over.
  bool incomplete = false;
  // Like `incomplete`, but only for the links of the kubelet and of drivers. Such links are neither
  // in directories that a pod can write to (see ListLinks()) nor deeper than LinkWalkLimits::depth,
  // so this stays false if the walk has skipped only such directories.
  bool incomplete_outside_pods = false;
  // The kubelet's staging folders (`globalmount` below `plugins`) that are plain directories and
  // contain an entry that is not a link. Sorted.
  std::vector<std::string> filled_staging_folders;
};

// The limits of one walk. Pods' directories come last, so they cannot hide other links.
struct LinkWalkLimits {
  // The number of entries that the walk lists. The walk opens only the directories and links
  // among these entries, not the files.
  size_t entries = 500'000;
  // The numbers of entries and links that the first turn of a directory reads. The rest waits until
  // the directories found so far are read.
  size_t entries_at_once = 2'000;
  size_t links_at_once = 128;
  // The number of directory levels below a start of the walk.
  size_t depth = 64;
  // The bytes that the list of pending directories takes, in each of the two parts of the walk.
  size_t pending_bytes = size_t{8} << 20;
  // The bytes that the result takes. The result must fit into one gRPC message of at most 4 MiB.
  size_t found_bytes = size_t{1} << 20;
  // The time of the walk, at most 3/4 of the call's remaining time, so that the call can answer.
  absl::Duration time = absl::Seconds(10);
  // If false, the walk follows no link and leaves LinkEnd::kUnknown. Then it contacts no volume
  // outside the tree, because such a volume might not answer.
  bool follow = true;
};

// Returns the directory links and mounted folders at and below `starts`. A start that is a root is
// entered even if it is a link or a mount, and skipped if it is absent. NOT_FOUND if another start
// is absent, PERMISSION_DENIED if the path to a start leads out of its roots.
//
// The walk has two parts, so that it finds the links of the kubelet and of drivers first: the
// second part reads the directories that a pod can write (IsPodsDirectory()). In each part,
// directories near the starts come first, and the rest of a large directory waits until the
// directories found so far are read. The walk does not lock entries: other programs can rename or
// delete them, and entries that disappear are skipped. An entry with a name that no WindowsPath can
// represent is skipped with all entries below it, because a call cannot name them.
absl::StatusOr<LinkList> ListLinks(const HostDeps& deps, const CallContext& context,
                                   const std::vector<ConfinedPath>& starts,
                                   const LinkWalkLimits& limits = {});

}  // namespace csi_proxy::host
