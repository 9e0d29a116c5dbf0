// The node that the command line of csi-proxy asks for.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "server/node/managed_node.h"
#include "server/service/options.h"

namespace csi_proxy {

// The node over a machine. INVALID_ARGUMENT naming the flag.
absl::StatusOr<std::unique_ptr<ManagedNode>> NewNode(const Options& options, OpenedMachine machine);

// The same, the machine opened. INVALID_ARGUMENT or NOT_FOUND naming the flag; else as
// OpenThisMachine().
absl::StatusOr<std::unique_ptr<ManagedNode>> OpenNode(const Options& options);

}  // namespace csi_proxy
