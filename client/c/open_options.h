// From the JSON of csi_proxy_open to a node.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/node.h"

namespace csi_proxy::c {

// Opens the node that `json` describes. INVALID_ARGUMENT naming the option, or where the JSON is
// wrong.
absl::StatusOr<std::shared_ptr<Node>> OpenNodeOf(absl::string_view json, LogFunction log);

}  // namespace csi_proxy::c
