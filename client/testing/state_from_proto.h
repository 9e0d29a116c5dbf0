// Converts the messages of a simulated node to the structs that a test looks at.
#pragma once

#include "csi_proxy/testing/state.h"
#include "server/simulator/node.pb.h"

namespace csi_proxy::simulated_node {

State FromProto(const simulated::Node& node);
simulated::Disk ToProto(const Disk& disk);

}  // namespace csi_proxy::simulated_node
