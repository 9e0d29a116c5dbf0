// Conversions between the public types of the simulated node and the simulator's messages.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "csi_proxy/testing/state.h"
#include "server/simulator/node.pb.h"

namespace csi_proxy::simulated_node {

State FromProto(const simulated::Node& node);
simulated::Disk ToProto(const Disk& disk);

// Returns a path in the form of the node, on a drive. Accepts the kubelet's spellings
// `\var\lib\kubelet` and `/var/lib/kubelet`. Removes backslashes at the end, except from a root.
std::string FullPath(absl::string_view path);

}  // namespace csi_proxy::simulated_node
