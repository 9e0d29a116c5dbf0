// The handler of the volume group: its rules, the same on every host.
#pragma once

#include <memory>

#include "csi_proxy/volume/hub.h"
#include "server/groups/deps.h"

namespace csi_proxy::volume {

// Thread-safe. What each method promises stands in the hub's documentation.
std::unique_ptr<Service> NewVolumeService(const groups::Deps& deps);

}  // namespace csi_proxy::volume
