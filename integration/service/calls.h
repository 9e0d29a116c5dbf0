#pragma once

#include <memory>
#include <string>

#include "csi_proxy/disk/v1/client.h"
#include "csi_proxy/filesystem/v1/client.h"
#include "csi_proxy/volume/v1/client.h"
#include "gtest/gtest.h"
#include "integration/support/server_process.h"

namespace csi_proxy::integration {

inline constexpr char kRoot[] = R"(C:\var\lib\kubelet\)";

// Partitions and formats disk 1 of the default node. Returns its volume's id.
inline std::string MakeVolume(const ServerProcess& server) {
  const auto connection = Connect(server.client_options()).value();
  const disk::v1::Client disk(connection);
  const volume::v1::Client volume(connection);
  disk::v1::PartitionDiskRequest partition;
  partition.set_disk_number(1);
  EXPECT_TRUE(disk.PartitionDisk(partition).ok());
  volume::v1::ListVolumesOnDiskRequest list;
  list.set_disk_number(1);
  const auto volumes = volume.ListVolumesOnDisk(list);
  EXPECT_TRUE(volumes.ok() && volumes->volume_ids_size() == 1) << volumes.status();
  if (!volumes.ok() || volumes->volume_ids_size() == 0) return "";
  volume::v1::FormatVolumeRequest format;
  format.set_volume_id(volumes->volume_ids(0));
  EXPECT_TRUE(volume.FormatVolume(format).ok());
  return volumes->volume_ids(0);
}

inline absl::StatusOr<bool> PathExists(const filesystem::v1::Client& client,
                                       const std::string& path, const CallOptions& options = {}) {
  filesystem::v1::PathExistsRequest request;
  request.set_path(path);
  const auto response = client.PathExists(request, options);
  if (!response.ok()) return response.status();
  return response->exists();
}

}  // namespace csi_proxy::integration
