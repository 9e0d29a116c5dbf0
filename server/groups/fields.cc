#include "server/groups/fields.h"

#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/names/win32_error.h"

namespace csi_proxy::groups {

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

absl::StatusOr<int64_t> SignedBytes(absl::string_view what, uint64_t bytes) {
  if (bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return absl::InternalError(absl::StrCat(what, ": ", bytes, " bytes, which is impossible"));
  }
  return static_cast<int64_t>(bytes);
}

}  // namespace csi_proxy::groups
