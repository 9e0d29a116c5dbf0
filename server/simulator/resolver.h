// Finds where a path leads: through drives, links and mounted volumes, as Windows follows them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/windows_path.h"
#include "server/simulator/state.h"
#include "server/simulator/storage.h"

namespace csi_proxy::machine::simulated {

// The end of a path, or how far it can be followed. Valid until the state changes.
struct Resolved {
  // The deepest entry that exists; null when a drive, a mounted volume or a share on the way is
  // not there, or when the volume has no file system.
  Tree* tree = nullptr;
  Tree::Id entry = Tree::kRoot;
  // The volume of the tree, or the one without a file system where the way ends; empty on a share.
  std::optional<VolumePlace> place;
  // The components below `entry` that do not exist. If there is a tree and none, it was found.
  std::vector<std::string> missing;
  // The first missing component is part of a link's target: the link leads nowhere.
  bool dangling = false;

  bool found() const { return tree != nullptr && missing.empty(); }
  const Tree::Entry& at() const { return tree->at(entry); }
};

// Follows `path`; a link at its end only if `follow_last` is set, a mount point there never.
// FAILED_PRECONDITION if there are more than 63 links and mount points on the way.
absl::StatusOr<Resolved> Resolve(NodeState& state, const WindowsPath& path, bool follow_last);

// The same from a volume's root on, without following a link at the end. Errors name `path`.
absl::StatusOr<Resolved> ResolveBelow(NodeState& state, const VolumePlace& root,
                                      const std::vector<std::string>& names,
                                      absl::string_view path);

// Finds where a path on a server leads; a tree only if the node can read it: mapped, and healthy.
Resolved ResolveUnc(NodeState& state, const UncPath& path);

}  // namespace csi_proxy::machine::simulated
