// The node's own names and addresses. A file of its own, because winsock2.h must precede windows.h.
#pragma once

#include "absl/status/statusor.h"
#include "server/machine/os.h"

namespace csi_proxy::machine {

// Implements Os::GetNetworkNames(). Thread-safe.
absl::StatusOr<NetworkNames> ReadNetworkNames();

}  // namespace csi_proxy::machine
