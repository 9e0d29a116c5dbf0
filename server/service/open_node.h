// The node that the command line of csi-proxy asks for.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "server/node/managed_node.h"
#include "server/service/options.h"
#include "server/service/versioned_services.h"

namespace csi_proxy {

// The node over a machine. INVALID_ARGUMENT naming the flag.
absl::StatusOr<std::unique_ptr<ManagedNode>> NewNode(const Options& options, OpenedMachine machine);

struct OpenedNode {
  std::unique_ptr<ManagedNode> node;
  // Served beside the released ones.
  std::vector<ExtraService> services;
};

// The same, the machine opened. INVALID_ARGUMENT or NOT_FOUND naming the flag; else as
// OpenThisMachine().
absl::StatusOr<OpenedNode> OpenNode(const Options& options);

}  // namespace csi_proxy
