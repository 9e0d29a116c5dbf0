// From the JSON of csi_proxy_sidecars_start to options.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/sidecars.h"

namespace csi_proxy::c {

// Without the callbacks. INVALID_ARGUMENT naming the option, or where the JSON is wrong.
absl::StatusOr<SidecarsOptions> ToSidecarsOptions(absl::string_view json);

}  // namespace csi_proxy::c
