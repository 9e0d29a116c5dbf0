// Checks a volume's capabilities and names the node that can reach it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "integration/drivers/sample/csi.pb.h"

namespace csi_proxy::sample_driver {

// Accepts a directory with NTFS used by one node. Otherwise returns INVALID_ARGUMENT with the
// unsupported part.
absl::Status CheckCapability(const csi::v1::VolumeCapability& capability);

// Checks every capability. Returns INVALID_ARGUMENT if there is none.
absl::Status CheckCapabilities(
    const google::protobuf::RepeatedPtrField<csi::v1::VolumeCapability>& capabilities);

// A volume can be reached only from the node that its disk is attached to.
inline csi::v1::Topology TopologyOf(const std::string& node_id) {
  csi::v1::Topology topology;
  (*topology.mutable_segments())["topology.sample.csi-proxy.example/node"] = node_id;
  return topology;
}

}  // namespace csi_proxy::sample_driver
