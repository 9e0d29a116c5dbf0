// Computes how much one tenant may take of what all tenants share.
#pragma once

#include <algorithm>
#include <cstddef>

namespace csi_proxy::rpc {

// Returns true if a tenant that has `own` of `all`, while others have `others`, may take one more:
// a tenant may have `percent` of what the others leave, but the last `reserved` are for tenants
// that have nothing. Therefore one tenant alone leaves some free, several together leave less but
// always some, and a tenant that has nothing may take the last.
constexpr bool MayTakeOneMore(size_t own, size_t others, size_t all, size_t percent,
                              size_t reserved = 0) {
  if (own + others >= all) return false;
  return own == 0 || (own + others + reserved < all && (own + 1) * 100 <= (all - others) * percent);
}

// Returns the most of `all` that a tenant may have while others have nothing.
constexpr size_t ShareOf(size_t all, size_t percent) {
  return std::max<size_t>(1, all * percent / 100);
}

// Returns half of what one tenant alone must leave.
constexpr size_t ReservedOf(size_t all, size_t percent) { return all * (100 - percent) / 200; }

}  // namespace csi_proxy::rpc
