// Partitions a raw disk by the direct library, without API versions and protobuf.
#include "csi_proxy/node.h"

#include <iostream>

int main() {
  const auto node = csi_proxy::Node::Simulated().value();
  const csi_proxy::CallContext context(absl::Now() + absl::Minutes(1));
  const absl::Status status = node->disk().PartitionDisk(context, {.disk_number = 1}).status();
  const auto volumes = node->volume().ListVolumesOnDisk(context, {.disk_number = 1});
  std::cerr << status << "\n" << volumes.status() << "\n";
  return status.ok() && volumes.ok() && volumes->volume_ids.size() == 1 ? 0 : 1;
}
