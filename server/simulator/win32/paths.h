// Finds where the paths lead that Win32 takes: of a drive, `C:\a\b`, or of a volume,
// `\\?\Volume{guid}\a\b`. Errors are Failure()s of `operation`.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/simulator/state.h"
#include "server/simulator/storage.h"

namespace csi_proxy::machine::simulated {

// The volume of this name, `\\?\Volume{guid}\`. ERROR_FILE_NOT_FOUND when there is none.
absl::StatusOr<VolumePlace> FindVolumeByName(NodeState& state, absl::string_view volume,
                                             absl::string_view operation);

// The volume with this root directory, `C:\` or `\\?\Volume{guid}\`. ERROR_UNRECOGNIZED_VOLUME when
// it has no file system.
absl::StatusOr<VolumePlace> FindRoot(NodeState& state, absl::string_view root,
                                     absl::string_view operation);

// An entry of a volume. Valid until the state changes.
struct PathEnd {
  VolumePlace place;
  Tree::Id entry = Tree::kRoot;

  Tree& tree() const { return place.volume->tree; }
  const Tree::Entry& at() const { return tree().at(entry); }
};

// Follows a path through the links and mount points on the way; what is at the end is not followed.
absl::StatusOr<PathEnd> FindPath(NodeState& state, absl::string_view path,
                                 absl::string_view operation);

}  // namespace csi_proxy::machine::simulated
