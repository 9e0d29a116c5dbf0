#include "integration/drivers/sample/feature_gates.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace csi_proxy::sample_driver {
namespace {

// https://pkg.go.dev/strconv#ParseBool: other spellings, such as `yes` or `tRUE`, are errors.
std::optional<bool> ParseBool(absl::string_view text) {
  constexpr std::array<absl::string_view, 6> kTrue = {"1", "t", "T", "TRUE", "true", "True"};
  constexpr std::array<absl::string_view, 6> kFalse = {"0", "f", "F", "FALSE", "false", "False"};
  if (absl::c_linear_search(kTrue, text)) return true;
  if (absl::c_linear_search(kFalse, text)) return false;
  return std::nullopt;
}

absl::Status Invalid(absl::string_view what, absl::string_view name) {
  return absl::InvalidArgumentError(
      absl::StrCat("--feature-gates: ", what, ": ", absl::CEscape(name)));
}

}  // namespace

absl::StatusOr<FeatureGates> ParseFeatureGates(absl::string_view text) {
  FeatureGates gates;
  for (absl::string_view item : absl::StrSplit(text, ',')) {
    item = absl::StripAsciiWhitespace(item);
    if (item.empty()) continue;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(item, absl::MaxSplits('=', 1));
    const absl::string_view name = absl::StripAsciiWhitespace(parts.first);
    if (name.size() == item.size()) return Invalid("missing bool value for", name);
    const std::optional<bool> value = ParseBool(absl::StripAsciiWhitespace(parts.second));
    if (!value.has_value()) return Invalid("invalid bool value for", name);
    if (name != "CSIDirectEnvInjection") return Invalid("unrecognized feature gate", name);
    gates.csi_direct_env_injection = *value;
  }
  return gates;
}

}  // namespace csi_proxy::sample_driver
