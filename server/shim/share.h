// How much one client may take of what all clients share.
#pragma once

#include <cstddef>

namespace csi_proxy::shim {

// Whether a client that has `own` of `all`, while others have `others`, may take one more: it may
// have `percent` of what the others leave. So one client alone leaves some free, several together
// leave less but always some, and one that has nothing yet may take the last.
constexpr bool MayTakeOneMore(size_t own, size_t others, size_t all, size_t percent) {
  if (own + others >= all) return false;
  return own == 0 || (own + 1) * 100 <= (all - others) * percent;
}

}  // namespace csi_proxy::shim
