#include "server/names/volume_id.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace csi_proxy {
namespace {

constexpr absl::string_view kPrefix = R"(\\?\Volume{)";

bool IsGuid(absl::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !absl::ascii_isxdigit(static_cast<unsigned char>(text[i]))) {
      return false;
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<VolumeId> VolumeId::Parse(absl::string_view text) {
  absl::string_view rest = text;
  absl::ConsumeSuffix(&rest, "\\");
  const bool framed = absl::StartsWithIgnoreCase(rest, kPrefix) && absl::ConsumeSuffix(&rest, "}");
  if (framed) rest.remove_prefix(kPrefix.size());
  if (!framed || !IsGuid(rest)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "volume_id: \"", absl::CEscape(text.substr(0, 64)), text.size() > 64 ? "..." : "",
        "\" is not a volume id such as \\\\?\\Volume{01234567-89ab-cdef-0123-456789abcdef}\\"));
  }
  VolumeId id;
  std::transform(rest.begin(), rest.end(), id.guid_.begin(),
                 [](char c) { return absl::ascii_tolower(static_cast<unsigned char>(c)); });
  return id;
}

std::string VolumeId::ToString() const { return absl::StrCat(kPrefix, guid(), "}\\"); }

}  // namespace csi_proxy
