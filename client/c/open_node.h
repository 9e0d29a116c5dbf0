// Opens the nodes of the C interface.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/node.h"

namespace csi_proxy::c {

struct OpenedNode {
  std::shared_ptr<Node> node;
  // Calls a method of csi_proxy.simulated.Admin with a serialized request. Null on other nodes.
  std::function<absl::StatusOr<std::string>(absl::string_view method, const std::string& request)>
      administer = nullptr;
};

// Opens the node that `json` describes. INVALID_ARGUMENT naming the option, or the place in the
// JSON.
absl::StatusOr<OpenedNode> OpenNodeOf(absl::string_view json, LogFunction log);

// Does what Node::Simulated() does. Each library links one of two definitions: simulation.cc, or,
// in csi_proxy.dll, no_simulation.cc, which returns UNIMPLEMENTED.
absl::StatusOr<OpenedNode> OpenSimulation(NodeOptions options, absl::string_view scenario);

}  // namespace csi_proxy::c
