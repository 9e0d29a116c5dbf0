// Limits each tenant's part of a shared resource: `percent` of what other tenants do not use, and
// always at least one piece.
//
// With 16 slots and 75 percent, tenants that come one after the other may have 12, 2, 1 and 1:
//
//   A, alone, may have 12: three quarters of 16.
//   B may have 2: three quarters of the 4 that A leaves are 3, but the last 2 are reserved.
//   C and D have no slot yet. So each gets one of the last 2.
//
// So a sole tenant leaves slots free, and a tenant without a slot waits only if no slot is free.
#pragma once

#include <algorithm>
#include <cstddef>

namespace csi_proxy::rpc {

// Returns true if a tenant that has `own` of `all` may take one more, while other tenants have
// `others`. The last `reserved` (ReservedOf()) are for tenants that have no piece.
constexpr bool MayTakeOneMore(size_t own, size_t others, size_t all, size_t percent,
                              size_t reserved = 0) {
  if (own + others >= all) return false;
  return own == 0 || (own + others + reserved < all && (own + 1) * 100 <= (all - others) * percent);
}

// Returns the part of `all` that a sole tenant may have.
constexpr size_t PartOf(size_t all, size_t percent) {
  return std::max<size_t>(1, all * percent / 100);
}

// Returns the pieces for tenants that have none: half of the pieces that a sole tenant leaves.
constexpr size_t ReservedOf(size_t all, size_t percent) { return all * (100 - percent) / 200; }

}  // namespace csi_proxy::rpc
