// The node this program runs on.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "server/host/host.h"

namespace csi_proxy {

// The machine itself. WMI has been asked once; that it did not answer is logged, no failure.
// UNIMPLEMENTED where the machine is no Windows node.
absl::StatusOr<std::unique_ptr<host::Host>> OpenWindowsNode();

}  // namespace csi_proxy
