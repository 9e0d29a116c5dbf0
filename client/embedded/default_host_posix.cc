#include <utility>

#include "client/embedded/default_host.h"

namespace csi_proxy::client {

absl::StatusOr<std::shared_ptr<Host>> NewDefaultHost(HostOptions options) {
  return Host::Simulated(std::move(options));
}

}  // namespace csi_proxy::client
