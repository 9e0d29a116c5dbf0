// The features that are off unless --feature-gates turns them on.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace csi_proxy::sample_driver {

struct FeatureGates {
  bool csi_direct_env_injection = false;
};

// Reads `A=true,B=false` as Kubernetes' programs do: of a gate that is named twice the last counts,
// and booleans are those of Go's strconv.ParseBool. INVALID_ARGUMENT for a gate that is not known.
absl::StatusOr<FeatureGates> ParseFeatureGates(absl::string_view text);

}  // namespace csi_proxy::sample_driver
