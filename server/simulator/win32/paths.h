// Resolves the paths that Win32 takes: of a drive, `C:\a\b`, or of a volume,
// `\\?\Volume{guid}\a\b`. Errors are Failure()s of `operation`.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/simulator/state.h"
#include "server/simulator/storage.h"

namespace csi_proxy::machine::simulator {

// Returns the volume with the name `volume`. Returns ERROR_INVALID_NAME if `volume` is not of the
// form `\\?\Volume{guid}\`, and ERROR_FILE_NOT_FOUND if there is no such volume.
absl::StatusOr<VolumePlace> FindVolumeByName(NodeState& state, absl::string_view volume,
                                             absl::string_view operation);

// Returns the volume with this root directory, `C:\` or `\\?\Volume{guid}\`. Returns
// ERROR_UNRECOGNIZED_VOLUME if the volume has no file system, ERROR_PATH_NOT_FOUND if there is no
// such drive, and the errors of FindVolumeByName() for any other root.
absl::StatusOr<VolumePlace> FindRoot(NodeState& state, absl::string_view root,
                                     absl::string_view operation);

// An entry of a volume. Valid until the state changes.
struct PathEnd {
  VolumePlace place;
  Tree::Id entry = Tree::kRoot;

  Tree& tree() const { return place.volume->tree; }
  const Tree::Entry& at() const { return tree().at(entry); }
};

// Resolves a path. Follows the links and mount points on the way, but not a link or mount point
// that is the last component.
absl::StatusOr<PathEnd> FindPath(NodeState& state, absl::string_view path,
                                 absl::string_view operation);

}  // namespace csi_proxy::machine::simulator
