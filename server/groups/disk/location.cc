#include "server/groups/disk/location.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace csi_proxy::disk {

std::optional<DiskLocation> ParseLocation(absl::string_view text) {
  DiskLocation location;
  const std::pair<absl::string_view, std::string*> parts[] = {
      {"Adapter ", &location.adapter},
      {"Port ", &location.bus},
      {"Target ", &location.target},
      {"LUN ", &location.lun_id},
  };
  for (absl::string_view part : absl::StrSplit(text, ':')) {
    part = absl::StripAsciiWhitespace(part);
    for (const auto& [prefix, out] : parts) {
      absl::string_view number = part;
      uint32_t value;
      if (!absl::ConsumePrefix(&number, prefix)) continue;
      if (!absl::SimpleAtoi(number, &value)) return std::nullopt;
      *out = absl::StrCat(value);
    }
  }
  for (const auto& [prefix, out] : parts) {
    if (out->empty()) return std::nullopt;
  }
  return location;
}

}  // namespace csi_proxy::disk
