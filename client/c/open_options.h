// From the JSON of csi_proxy_open to a node.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/c/simulation.h"
#include "csi_proxy/node.h"

namespace csi_proxy::c {

// Opens the node that `json` describes. INVALID_ARGUMENT naming the option, or where the JSON is
// wrong.
absl::StatusOr<OpenedNode> OpenNodeOf(absl::string_view json, LogFunction log);

}  // namespace csi_proxy::c
