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

// Where a link ends, after the links behind it are followed as ResolvePath() follows them.
enum class LinkEnd {
  // A directory, or a volume that the node has.
  kThere,
  // Nothing, a file, a volume whose disk is gone or offline, or a circle of links.
  kNowhere,
  // A share, whose server was not asked.
  kOnServer,
  // Not known: the end is outside the roots, Windows refused, or the time was over.
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
  // True if links that the kubelet or a driver made may be missing. False if the walk skipped only
  // directories that a pod can write (see ListLinks()) or that lie deeper than
  // LinkWalkLimits::depth, where neither of them makes links.
  bool incomplete_outside_pods = false;
  // The kubelet's staging folders, IsStagingFolder(), that are plain directories with an entry
  // other than a link. Sorted.
  std::vector<std::string> filled_staging_folders;
};

// The limits of one walk. Content of pods may reach them without an effect on other links.
struct LinkWalkLimits {
  // Entries seen. A file costs only its line in a listing; directories and links cost calls.
  size_t entries = 500'000;
  // Entries and links of a directory that are read in one turn; then other directories follow.
  size_t entries_at_once = 2'000;
  size_t links_at_once = 128;
  // Directories below the start of the walk.
  size_t depth = 64;
  // Bytes of the paths of pending directories.
  size_t pending_bytes = size_t{8} << 20;
  // Bytes of the text found, which must fit into one gRPC message of at most 4 MiB.
  size_t found_bytes = size_t{1} << 20;
  // Time of the walk, at most 3/4 of the call's remaining time so that it can answer.
  absl::Duration time = absl::Seconds(10);
};

// Returns the directory links and mounted folders at and below `starts`. A start that is a root is
// followed if it is a link, and yields nothing if it is absent. NOT_FOUND if any other start is
// absent, PERMISSION_DENIED if the path to a start leads out of its roots.
//
// Links of the kubelet and of drivers come first. The directories that a pod can write
// (IsPodsDirectory()) are walked after all other directories and links. In each of the two parts,
// directories near the starts come first and large ones last. The walk does not lock entries: they
// can be renamed or deleted, and entries that disappear are skipped. Entries whose name no
// WindowsPath can hold are skipped with all below them, because no call could name them.
absl::StatusOr<LinkList> ListLinks(machine::Os& os, const CallContext& context,
                                   const std::vector<ConfinedPath>& starts,
                                   const LinkWalkLimits& limits = {});

}  // namespace csi_proxy::host
