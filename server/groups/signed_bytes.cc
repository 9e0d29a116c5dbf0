#include "server/groups/signed_bytes.h"

#include <limits>

#include "absl/strings/str_cat.h"

namespace csi_proxy::groups {

absl::StatusOr<int64_t> SignedBytes(absl::string_view what, uint64_t bytes) {
  if (bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return absl::InternalError(absl::StrCat(what, ": ", bytes, " bytes, which cannot be"));
  }
  return static_cast<int64_t>(bytes);
}

}  // namespace csi_proxy::groups
