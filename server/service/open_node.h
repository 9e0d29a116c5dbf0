// Opens the node that the command line selects.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "server/node/managed_node.h"
#include "server/service/options.h"
#include "server/service/versioned_services.h"

namespace csi_proxy {

// Makes a node over `machine`. Returns INVALID_ARGUMENT, naming the flag, for bad options.
absl::StatusOr<std::unique_ptr<ManagedNode>> NewNode(const Options& options, OpenedMachine machine);

struct OpenedNode {
  std::unique_ptr<ManagedNode> node;
  // Services to serve beside the released ones.
  std::vector<ExtraService> services;
};

// Opens the machine and makes the node. Returns INVALID_ARGUMENT or NOT_FOUND, naming the flag, for
// bad options, and the errors of OpenThisMachine().
absl::StatusOr<OpenedNode> OpenNode(const Options& options);

}  // namespace csi_proxy
