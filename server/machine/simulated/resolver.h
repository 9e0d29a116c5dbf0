// Where a path leads: through drives, links and mounted volumes, without leaving its roots.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/windows_path.h"
#include "server/machine/simulated/state.h"
#include "server/machine/simulated/storage.h"

namespace csi_proxy::machine::simulated {

struct ResolveOptions {
  // What to do with the last component when it is a link. A mount point at the end is never
  // entered: it is returned as the directory it is.
  bool follow_last = false;
  // Links and mount points on the way; Windows gives up after 63.
  int max_steps = 63;
};

// The end of the way, or how far it goes. Valid until the state changes.
struct Resolved {
  // The deepest entry that exists; null when a drive, a mounted volume or a share on the way is
  // not there, or when the volume has no file system.
  Tree* tree = nullptr;
  Tree::Id entry = Tree::kRoot;
  // The volume of the tree; empty on a share.
  std::optional<VolumePlace> place;
  // The components below `entry` that are not there. Empty together with a tree: found.
  std::vector<std::string> missing;
  // The first missing component is one of a link's target: the link leads nowhere.
  bool dangling = false;

  bool found() const { return tree != nullptr && missing.empty(); }
  const Tree::Entry& at() const { return tree->at(entry); }
};

// Follows `path`. Confinement: a link at or above a root is the administrator's and is followed
// wherever it leads, the root staying the root; a link below must lead into the roots, and only
// the last component may lead to a server. A volume mounted below a root belongs to the tree,
// except one that holds a root itself. PERMISSION_DENIED, naming the link, otherwise;
// FAILED_PRECONDITION when there are too many links.
absl::StatusOr<Resolved> Resolve(NodeState& state, const ConfinedPath& path,
                                 const ResolveOptions& options = {});

// Whether `path` lies strictly below a root, where callers may put links and mount points.
bool IsBelow(const PathRoots& roots, const WindowsPath& path);

// Where a path on a server leads; a tree only when the node can read it: mapped, and healthy.
Resolved ResolveUnc(NodeState& state, const UncPath& path);

// NOT_FOUND, wording what is missing, for a path that was not found.
absl::Status MissingError(const std::string& path);

}  // namespace csi_proxy::machine::simulated
