// Converts sizes for the API.
#pragma once

#include <cstdint>
#include <limits>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace csi_proxy::groups {

// Returns INTERNAL, naming `what`, for a size that no disk or file system can have.
inline absl::StatusOr<int64_t> SignedBytes(absl::string_view what, uint64_t bytes) {
  if (bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return absl::InternalError(absl::StrCat(what, ": ", bytes, " bytes, which is impossible"));
  }
  return static_cast<int64_t>(bytes);
}

}  // namespace csi_proxy::groups
