#include "client/embedded/default_host.h"

namespace csi_proxy::client {

absl::StatusOr<std::shared_ptr<Host>> NewDefaultHost() { return Host::Windows(); }

}  // namespace csi_proxy::client
