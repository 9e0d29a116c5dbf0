#include "server/machine/simulated/win32/paths.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "server/base/win32_error.h"
#include "server/base/windows_path.h"
#include "server/machine/simulated/resolver.h"

namespace csi_proxy::machine::simulated {
namespace {

constexpr absl::string_view kVolumePrefix = R"(\\?\Volume{)";

bool IsDriveRoot(absl::string_view root) {
  return root.size() == 3 && absl::ascii_isalpha(root[0]) && absl::EndsWith(root, ":\\");
}

// How much of a path is its root, with the backslash behind it.
size_t RootLength(absl::string_view path) {
  if (!absl::StartsWithIgnoreCase(path, kVolumePrefix)) return 3;
  const size_t end = path.find('\\', kVolumePrefix.size());
  return end == absl::string_view::npos ? path.size() : end + 1;
}

absl::StatusOr<VolumePlace> FindDriveByRoot(NodeState& state, absl::string_view root,
                                            absl::string_view operation) {
  const absl::StatusOr<VolumePlace> place = FindDrive(state, absl::ascii_toupper(root[0]));
  // To Windows the drive is a part of the path.
  if (!place.ok()) return Failure(operation, win32_error::kPathNotFound);
  return place;
}

// Goes into what a directory on the way stands for.
absl::Status Enter(NodeState& state, absl::string_view operation, PathEnd* end) {
  if (end->at().kind == Tree::Kind::kLink) {
    const absl::StatusOr<WindowsPath> target = WindowsPath::Parse("target", end->at().target);
    // No volume is on a server.
    if (!target.ok()) return Failure(operation, win32_error::kPathNotFound);
    const absl::StatusOr<Resolved> at = Resolve(state, *target, true);
    if (!at.ok()) return at.status();
    if (!at->found() || !at->place.has_value()) {
      return Failure(operation, win32_error::kPathNotFound);
    }
    *end = {*at->place, at->entry};
  }
  if (end->at().mounted.has_value()) {
    const absl::StatusOr<VolumePlace> volume =
        FindRoot(state, end->at().mounted->ToString(), operation);
    if (!volume.ok()) return volume.status();
    *end = {*volume};
  }
  return absl::OkStatus();
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
  const size_t root = RootLength(path);
  const absl::StatusOr<VolumePlace> place = FindRoot(state, path.substr(0, root), operation);
  if (!place.ok()) return place.status();
  PathEnd end{*place};
  if (path.size() <= root) return end;
  const std::vector<absl::string_view> names = absl::StrSplit(path.substr(root), '\\');
  for (size_t i = 0; i < names.size(); ++i) {
    if (absl::Status status = Enter(state, operation, &end); !status.ok()) return status;
    const std::optional<Tree::Id> child = end.tree().Find(end.entry, names[i]);
    if (!child.has_value()) {
      const bool is_last = i + 1 == names.size() && end.at().kind == Tree::Kind::kDirectory;
      return Failure(operation, is_last ? win32_error::kFileNotFound : win32_error::kPathNotFound);
    }
    end.entry = *child;
  }
  return end;
}

}  // namespace csi_proxy::machine::simulated
