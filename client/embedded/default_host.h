// The node that embedded clients act on when they name none.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "csi_proxy/host.h"

namespace csi_proxy::client {

// This machine on Windows, a simulated node elsewhere; with the default HostOptions.
absl::StatusOr<std::shared_ptr<Host>> NewDefaultHost();

}  // namespace csi_proxy::client
