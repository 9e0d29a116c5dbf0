// Mounts a raw disk's volume by the direct library, without API versions and protobuf.
#include "csi_proxy/node.h"

#include <iostream>

namespace {

absl::Status Mount(csi_proxy::Node& node, const std::string& path) {
  const csi_proxy::CallContext context(absl::Now() + absl::Minutes(1));
  absl::Status status = node.disk().PartitionDisk(context, {.disk_number = 1}).status();
  if (!status.ok()) return status;
  const auto volumes = node.volume().ListVolumesOnDisk(context, {.disk_number = 1});
  if (!volumes.ok()) return volumes.status();
  const std::string id = volumes->volume_ids.at(0);
  csi_proxy::volume::FormatVolumeRequest format;
  format.volume_id = id;
  status = node.volume().FormatVolume(context, format).status();
  if (!status.ok()) return status;
  status = node.filesystem().Mkdir(context, {.path = path}).status();
  if (!status.ok()) return status;
  status = node.volume().MountVolume(context, {.volume_id = id, .target_path = path}).status();
  if (!status.ok()) return status;
  const auto mounted = node.volume().GetVolumeIDFromTargetPath(context, {.target_path = path});
  if (!mounted.ok()) return mounted.status();
  return mounted->volume_id == id ? absl::OkStatus() : absl::InternalError(mounted->volume_id);
}

}  // namespace

int main() {
  const auto node = csi_proxy::Node::Simulated();
  const absl::Status status =
      node.ok() ? Mount(**node, R"(C:\var\lib\kubelet\plugins\example\pvc-1)") : node.status();
  std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
