// Now() has a file of its own, so that a test program can link its own clock instead.
#include "csi_proxy/steady_time.h"

#include <chrono>

namespace csi_proxy {

SteadyTime SteadyTime::Now() {
  return SteadyTime(absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch()));
}

}  // namespace csi_proxy
