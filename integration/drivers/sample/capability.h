// The demands of a volume: its capabilities, and the node that reaches it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "integration/drivers/sample/csi.pb.h"

namespace csi_proxy::sample_driver {

// OK for a directory with NTFS that one node uses; else INVALID_ARGUMENT and what is not supported.
absl::Status CheckCapability(const csi::v1::VolumeCapability& capability);

// Checks all of them; there must be one at least.
absl::Status CheckCapabilities(
    const google::protobuf::RepeatedPtrField<csi::v1::VolumeCapability>& capabilities);

// Volumes can be reached from the node that their disk is attached to.
inline csi::v1::Topology TopologyOf(const std::string& node_id) {
  csi::v1::Topology topology;
  (*topology.mutable_segments())["topology.sample.csi-proxy.example/node"] = node_id;
  return topology;
}

}  // namespace csi_proxy::sample_driver
