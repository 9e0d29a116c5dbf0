#include "server/base/flag_in_force.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace csi_proxy {

bool FlagInForce::IsFarBelowDefault() const {
  double number;
  return absl::SimpleAtod(by_default, &number) && value * 4 <= number;
}

std::string ChangedFlagsText(const std::vector<FlagInForce>& flags) {
  if (flags.empty()) return "";
  std::vector<std::string> changed;
  for (const FlagInForce& flag : flags) {
    const bool is_switch = flag.by_default == "true" || flag.by_default == "false";
    const char* const state = flag.value > 0 ? "true" : "false";
    const std::string value = is_switch ? state : absl::StrFormat("%.15g", flag.value);
    if (value == flag.by_default) continue;
    changed.push_back(
        absl::StrCat("--", flag.name, "=", value, " (default ", flag.by_default, ")"));
  }
  return absl::StrCat("limits and switches: ",
                      changed.empty() ? "the defaults" : absl::StrJoin(changed, ", "));
}

}  // namespace csi_proxy
