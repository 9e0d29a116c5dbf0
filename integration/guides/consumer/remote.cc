// Lists disks by the service's pipe.
#include <iostream>

#include "csi_proxy/disk/v1/client.h"

namespace disk = csi_proxy::disk::v1;

int main() {
  const auto service = csi_proxy::Connect({.mode = csi_proxy::Mode::kRemote});
  if (!service.ok()) {
    std::cerr << service.status() << "\n";
    return 1;
  }
  const disk::Client disks(*service);
  const absl::StatusOr<disk::ListDiskIDsResponse> ids = disks.ListDiskIDs({});
  if (!ids.ok()) {
    std::cerr << ids.status() << "\n";
    return 1;
  }
  for (const auto& [number, id] : ids->diskids()) {
    std::cout << "disk " << number << ": " << id.page83() << "\n";
  }
  return ids->diskids().empty();
}
