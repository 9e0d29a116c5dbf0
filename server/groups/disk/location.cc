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
  if (location == DiskLocation{}) return std::nullopt;
  return location;
}

}  // namespace csi_proxy::disk
