// What is between the public types of the simulated node and the simulator.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "csi_proxy/testing/state.h"
#include "server/simulator/node.pb.h"

namespace csi_proxy::simulated_node {

State FromProto(const simulated::Node& node);
simulated::Disk ToProto(const Disk& disk);

// A path of a drive as the node spells it: the kubelet gives `\var\lib\kubelet` and
// `/var/lib/kubelet`. Without a backslash at the end, unless it is a drive's root.
std::string FullPath(absl::string_view path);

}  // namespace csi_proxy::simulated_node
