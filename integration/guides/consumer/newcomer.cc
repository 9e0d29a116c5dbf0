// Turns a raw disk into a mounted volume, on a simulated Windows node inside this process.
#include <iostream>

#include "csi_proxy/disk/v1/client.h"
#include "csi_proxy/filesystem/v1/client.h"
#include "csi_proxy/node.h"
#include "csi_proxy/volume/v1/client.h"

using namespace csi_proxy;  // NOLINT: a short program

int main() {
  // By default the node is this machine; Mode::kRemote means the service, Mode::kAuto either.
  auto connection = Connect({.mode = Mode::kEmbedded, .node = Node::Simulated().value()}).value();
  disk::v1::Client disks(connection);
  volume::v1::Client volumes(connection);
  filesystem::v1::Client files(connection);

  disk::v1::PartitionDiskRequest partition;
  partition.set_disk_number(1);
  disks.PartitionDisk(partition).value();
  volume::v1::ListVolumesOnDiskRequest list;
  list.set_disk_number(1);
  volume::v1::FormatVolumeRequest format;
  format.set_volume_id(volumes.ListVolumesOnDisk(list).value().volume_ids(0));
  volumes.FormatVolume(format).value();

  filesystem::v1::MkdirRequest mkdir;
  mkdir.set_path(R"(C:\var\lib\kubelet\plugins\example\pvc-1)");
  files.Mkdir(mkdir).value();
  volume::v1::MountVolumeRequest mount;
  mount.set_volume_id(format.volume_id());
  mount.set_target_path(mkdir.path());
  volumes.MountVolume(mount).value();
  std::cout << mount.volume_id() << " is mounted at " << mount.target_path() << "\n";
}
