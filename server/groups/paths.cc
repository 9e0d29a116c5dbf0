#include "server/groups/paths.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/base/win32_error.h"

namespace csi_proxy::groups {
namespace {

absl::StatusOr<ConfinedPath> Confine(const std::shared_ptr<const PathRoots>& roots,
                                     absl::string_view field, absl::StatusOr<WindowsPath> path) {
  if (!path.ok()) return path.status();
  ABSL_RETURN_IF_ERROR(roots->Check(field, *path));
  return ConfinedPath{*std::move(path), roots};
}

absl::StatusOr<ConfinedPath> RequireBelow(absl::string_view field,
                                          absl::StatusOr<ConfinedPath> path) {
  if (!path.ok()) return path;
  for (const WindowsPath& root : path->roots->roots()) {
    if (!path->path.Contains(root)) continue;
    return absl::PermissionDeniedError(
        absl::StrCat(field, ": \"", path->path.ToString(), "\": it is a working directory itself"));
  }
  return path;
}

}  // namespace

absl::StatusOr<ConfinedPath> ParseConfinedPath(const std::shared_ptr<const PathRoots>& roots,
                                               absl::string_view field, absl::string_view text) {
  return Confine(roots, field, WindowsPath::Parse(field, text));
}

absl::StatusOr<ConfinedPath> ParseConfinedPathLeniently(
    const std::shared_ptr<const PathRoots>& roots, absl::string_view field,
    absl::string_view text) {
  // The root's drive matters only if `text` has none.
  for (const WindowsPath& root : roots->roots()) {
    absl::StatusOr<WindowsPath> path = WindowsPath::ParseLenient(field, text, root.drive());
    if (path.ok() && roots->Contains(*path)) return ConfinedPath{*std::move(path), roots};
  }
  const char drive = roots->roots().empty() ? 'C' : roots->roots().front().drive();
  return Confine(roots, field, WindowsPath::ParseLenient(field, text, drive));
}

absl::StatusOr<ConfinedPath> ParseConfinedPathBelow(const std::shared_ptr<const PathRoots>& roots,
                                                    absl::string_view field,
                                                    absl::string_view text) {
  return RequireBelow(field, ParseConfinedPath(roots, field, text));
}

absl::StatusOr<ConfinedPath> ParseConfinedPathBelowLeniently(
    const std::shared_ptr<const PathRoots>& roots, absl::string_view field,
    absl::string_view text) {
  return RequireBelow(field, ParseConfinedPathLeniently(roots, field, text));
}

std::vector<ConfinedPath> AllRoots(const std::shared_ptr<const PathRoots>& roots) {
  std::vector<ConfinedPath> all;
  for (const WindowsPath& root : roots->roots()) all.push_back({root, roots});
  return all;
}

absl::Status AboutField(absl::string_view field, const absl::Status& status) {
  return absl::IsFailedPrecondition(status) ? Prefixed(field, status) : status;
}

absl::Status CheckText(absl::string_view field, absl::string_view text, size_t max_bytes,
                       bool may_be_empty) {
  if (text.empty() && !may_be_empty) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": must not be empty"));
  }
  if (text.size() > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": is longer than ", max_bytes, " bytes"));
  }
  for (const char c : text) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      return absl::InvalidArgumentError(absl::StrCat(field, ": holds a control character"));
    }
  }
  return absl::OkStatus();
}

}  // namespace csi_proxy::groups
