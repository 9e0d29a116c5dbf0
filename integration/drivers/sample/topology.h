// Where volumes can be reached from: the node their disk is attached to.
#pragma once

#include <string>

#include "integration/drivers/sample/csi.pb.h"

namespace csi_proxy::sample_driver {

inline csi::v1::Topology TopologyOf(const std::string& node_id) {
  csi::v1::Topology topology;
  (*topology.mutable_segments())["topology.sample.csi-proxy.example/node"] = node_id;
  return topology;
}

}  // namespace csi_proxy::sample_driver
