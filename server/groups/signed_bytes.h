// Sizes as the API has them.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace csi_proxy::groups {

// INTERNAL, naming `what`, for a size that no disk and no file system can have.
absl::StatusOr<int64_t> SignedBytes(absl::string_view what, uint64_t bytes);

}  // namespace csi_proxy::groups
