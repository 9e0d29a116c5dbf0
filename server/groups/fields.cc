#include "server/groups/fields.h"

#include <limits>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
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

std::optional<disk::DiskLocation> ParseLocation(absl::string_view text) {
  disk::DiskLocation location;
  std::string port;
  const std::pair<absl::string_view, std::string*> parts[] = {
      {"Adapter ", &location.adapter}, {"Bus ", &location.bus},    {"Port ", &port},
      {"Target ", &location.target},   {"LUN ", &location.lun_id},
  };
  for (absl::string_view part : absl::StrSplit(text, ':')) {
    part = absl::StripAsciiWhitespace(part);
    for (const auto& [prefix, out] : parts) {
      absl::string_view number = part;
      uint32_t value;
      if (absl::ConsumePrefix(&number, prefix) && absl::SimpleAtoi(number, &value)) {
        *out = absl::StrCat(value);
      }
    }
  }
  if (location.bus.empty()) location.bus = std::move(port);
  if (location == disk::DiskLocation{}) return std::nullopt;
  return location;
}

}  // namespace csi_proxy::groups
