// The handler of the volume group: its rules, the same on every host.
#pragma once

#include <memory>

#include "csi_proxy/volume/hub.h"
#include "server/groups/deps.h"

namespace csi_proxy::volume {

// Thread-safe. The hub's documentation states the promises of each method.
std::unique_ptr<Service> NewVolumeService(const groups::Deps& deps);

}  // namespace csi_proxy::volume
