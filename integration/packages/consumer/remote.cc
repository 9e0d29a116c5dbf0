// The service's disks, over its pipe.
#include <iostream>

#include "csi_proxy/disk/v1/client.h"

namespace disk = csi_proxy::disk::v1;

int main() {
  const absl::StatusOr<disk::Client> disks =
      disk::Client::Create({.mode = csi_proxy::Mode::kRemote});
  if (!disks.ok()) {
    std::cerr << disks.status() << "\n";
    return 1;
  }
  const absl::StatusOr<disk::ListDiskIDsResponse> ids = disks->ListDiskIDs({});
  if (!ids.ok()) {
    std::cerr << ids.status() << "\n";
    return 1;
  }
  for (const auto& [number, id] : ids->diskids()) {
    std::cout << "disk " << number << ": " << id.page83() << "\n";
  }
  return ids->diskids().empty();
}
