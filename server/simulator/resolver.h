// Resolves paths through drives, links and mounted volumes, as Windows follows them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/names/windows_path.h"
#include "server/simulator/state.h"
#include "server/simulator/storage.h"

namespace csi_proxy::machine::simulator {

// The entry to which a path leads, or the deepest entry on the way that exists. Valid until the
// state changes.
struct Resolved {
  // The tree of `entry`. Null if a drive or mounted volume on the way is missing or has no file
  // system, or if the node cannot read a share on the way.
  Tree* tree = nullptr;
  Tree::Id entry = Tree::kRoot;
  // The volume of the tree, or the volume without a file system at which the path stops. Empty on a
  // share, or if the drive or mounted volume is missing.
  std::optional<VolumePlace> place;
  // The components below `entry` that do not exist.
  std::vector<std::string> missing;
  // True if a link on the way is dangling: the first missing component, or the missing drive or
  // unreadable share, belongs to the link's target.
  bool dangling = false;

  bool found() const { return tree != nullptr && missing.empty(); }
  const Tree::Entry& at() const { return tree->at(entry); }
};

// Resolves `path`. Follows a link at its end only if `follow_last` is set, and never a mount point
// there. Returns FAILED_PRECONDITION if the path has more than 63 links and mount points.
absl::StatusOr<Resolved> Resolve(NodeState& state, const WindowsPath& path, bool follow_last);

// Resolves a path from a volume's root, without following a link at the end. Errors name `path`.
absl::StatusOr<Resolved> ResolveBelow(NodeState& state, const VolumePlace& root,
                                      const std::vector<std::string>& names,
                                      absl::string_view path);

// Resolves a path on a server. Sets `tree` only if the node can read the share through a mapping.
Resolved ResolveUnc(NodeState& state, const UncPath& path);

}  // namespace csi_proxy::machine::simulator
