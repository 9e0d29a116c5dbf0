// Tests a driver on a simulated node: a disk is attached, staged, published and pulled out.
#include <iostream>

#include "csi_proxy/disk/v1/client.h"
#include "csi_proxy/filesystem/v1/client.h"
#include "csi_proxy/testing/node.h"
#include "csi_proxy/volume/v1/client.h"

using namespace csi_proxy;  // NOLINT: a short program

namespace {

constexpr char kStaging[] = R"(C:\var\lib\kubelet\plugins\example\globalmount)";
constexpr char kTarget[] = R"(C:\var\lib\kubelet\pods\pod-1\pvc-1)";

// The driver's part; the connection may lead to any node.
void StageAndPublish(const std::shared_ptr<Connection>& connection, uint32_t number) {
  disk::v1::Client disks(connection);
  volume::v1::Client volumes(connection);
  filesystem::v1::Client files(connection);
  disk::v1::PartitionDiskRequest partition;
  partition.set_disk_number(number);
  disks.PartitionDisk(partition).value();
  volume::v1::ListVolumesOnDiskRequest list;
  list.set_disk_number(number);
  volume::v1::FormatVolumeRequest format;
  format.set_volume_id(volumes.ListVolumesOnDisk(list).value().volume_ids(0));
  volumes.FormatVolume(format).value();
  filesystem::v1::MkdirRequest mkdir;
  mkdir.set_path(kStaging);
  files.Mkdir(mkdir).value();
  volume::v1::MountVolumeRequest mount;
  mount.set_volume_id(format.volume_id());
  mount.set_target_path(kStaging);
  volumes.MountVolume(mount).value();
  filesystem::v1::CreateSymlinkRequest link;
  link.set_source_path(kStaging);
  link.set_target_path(kTarget);
  files.CreateSymlink(link).value();
}

bool Expect(bool is, const char* what) {
  if (!is) std::cerr << "not so: " << what << "\n";
  return is;
}

}  // namespace

int main() {
  const auto node = SimulatedNode::Create().value();
  bool as_expected = Expect(node.MakeDirectory(R"(C:\var\lib\kubelet\pods\pod-1)").ok(),
                            "the kubelet makes the pod's directory");
  const uint32_t number =
      node.AttachDisk({.size_bytes = 10ull << 30, .serial_number = "vol-1"}).value();
  StageAndPublish(Connect(node.client_options()).value(), number);
  const std::string id = node.state().FindDisk(number)->partitions[1].volume->id;
  as_expected &= Expect(node.state().MountedAt(kTarget) == id, "the volume is at the target");
  as_expected &= Expect(node.DetachDisk(number).ok(), "the disk is pulled out");
  as_expected &= Expect(node.state().MountedAt(kTarget).empty(), "the target leads nowhere");
  as_expected &= Expect(node.Reset().ok(), "the node begins anew");
  as_expected &= Expect(!node.state().At(kStaging).has_value(), "nothing is staged");
  const simulated_node::Fault fault = {.operation = "disk.PartitionDisk",
                                       .code = absl::StatusCode::kInternal};
  as_expected &= Expect(node.InjectFault(fault).ok(), "a fault is injected");
  const uint32_t blank = node.AttachDisk({.size_bytes = 10ull << 30}).value();
  const auto partitioned = node->disk().PartitionDisk(CallContext(), {.disk_number = blank});
  as_expected &= Expect(absl::IsInternal(partitioned.status()), "PartitionDisk fails");
  std::cout << "a disk was staged, published and pulled out: " << (as_expected ? "yes" : "no")
            << "\n";
  return as_expected ? 0 : 1;
}
