// Writes protobuf's JSON as YAML.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace csi_proxy::ctl {

// The same values in the same order, as YAML's block style: a string stays a string, also one that
// YAML would take for a number. INVALID_ARGUMENT when the text is not JSON.
absl::StatusOr<std::string> JsonToYaml(absl::string_view json);

}  // namespace csi_proxy::ctl
