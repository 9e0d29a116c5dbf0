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
  // Calls a method of csi_proxy.simulated.Admin with a serialized request. Null unless the node is
  // simulated.
  std::function<absl::StatusOr<std::string>(absl::string_view method, const std::string& request)>
      administer = nullptr;
};

// Opens the node that `json` describes. INVALID_ARGUMENT naming the option, or where the JSON is
// wrong.
absl::StatusOr<OpenedNode> OpenNodeOf(absl::string_view json, LogFunction log);

// As Node::Simulated(). A library has one of two files with this function: simulation.cc, or
// no_simulation.cc, which is the one of csi_proxy.dll and fails with UNIMPLEMENTED.
absl::StatusOr<OpenedNode> OpenSimulation(NodeOptions options, absl::string_view scenario);

}  // namespace csi_proxy::c
