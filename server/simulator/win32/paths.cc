#include "server/simulator/win32/paths.h"

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "server/base/status_macros.h"
#include "server/names/win32_error.h"
#include "server/simulator/resolver.h"

namespace csi_proxy::machine::simulator {
namespace {

constexpr absl::string_view kVolumePrefix = R"(\\?\Volume{)";

bool IsDriveRoot(absl::string_view root) {
  return root.size() == 3 && absl::ascii_isalpha(root[0]) && absl::EndsWith(root, ":\\");
}

// Returns the length of a path's root, including the backslash.
size_t RootLength(absl::string_view path) {
  if (!absl::StartsWithIgnoreCase(path, kVolumePrefix)) return 3;
  const size_t end = path.find('\\', kVolumePrefix.size());
  return end == absl::string_view::npos ? path.size() : end + 1;
}

absl::StatusOr<VolumePlace> FindDriveByRoot(NodeState& state, absl::string_view root,
                                            absl::string_view operation) {
  const absl::StatusOr<VolumePlace> place = FindDrive(state, absl::ascii_toupper(root[0]));
  // Windows treats the drive as a part of the path, so a missing drive is a missing path.
  if (!place.ok()) return Failure(operation, win32_error::kPathNotFound);
  return place;
}

}  // namespace

absl::StatusOr<VolumePlace> FindVolumeByName(NodeState& state, absl::string_view volume,
                                             absl::string_view operation) {
  const absl::StatusOr<VolumeId> id = VolumeId::Parse(volume);
  if (!id.ok() || !absl::EndsWith(volume, "\\")) {
    return Failure(operation, win32_error::kInvalidName);
  }
  const absl::StatusOr<VolumePlace> place = FindVolume(state, *id);
  if (!place.ok()) return Failure(operation, win32_error::kFileNotFound);
  return place;
}

absl::StatusOr<VolumePlace> FindRoot(NodeState& state, absl::string_view root,
                                     absl::string_view operation) {
  const absl::StatusOr<VolumePlace> place = IsDriveRoot(root)
                                                ? FindDriveByRoot(state, root, operation)
                                                : FindVolumeByName(state, root, operation);
  if (!place.ok()) return place;
  if (place->volume->file_system.empty()) {
    return Failure(operation, win32_error::kUnrecognizedVolume);
  }
  return place;
}

absl::StatusOr<PathEnd> FindPath(NodeState& state, absl::string_view path,
                                 absl::string_view operation) {
  const size_t length = RootLength(path);
  ABSL_ASSIGN_OR_RETURN(const VolumePlace root, FindRoot(state, path.substr(0, length), operation));
  std::vector<std::string> names;
  if (path.size() > length) names = absl::StrSplit(path.substr(length), '\\');
  ABSL_ASSIGN_OR_RETURN(const Resolved at, ResolveBelow(state, root, names, path));
  // A volume that is mounted on the path is missing, or has no file system.
  if (at.tree == nullptr && !at.dangling) {
    return Failure(operation, at.place.has_value() ? win32_error::kUnrecognizedVolume
                                                   : win32_error::kFileNotFound);
  }
  // A server's path has no volume.
  if (!at.place.has_value() || at.dangling) return Failure(operation, win32_error::kPathNotFound);
  if (at.found()) return PathEnd{*at.place, at.entry};
  const bool is_last = at.missing.size() == 1 && at.at().kind == Tree::Kind::kDirectory;
  return Failure(operation, is_last ? win32_error::kFileNotFound : win32_error::kPathNotFound);
}

}  // namespace csi_proxy::machine::simulator
