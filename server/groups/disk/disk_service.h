// The handler of the disk group: its rules, the same on every host.
#pragma once

#include <memory>

#include "csi_proxy/disk/hub.h"
#include "server/groups/deps.h"

namespace csi_proxy::disk {

// Thread-safe. The hub's documentation states the promises of each method.
std::unique_ptr<Service> NewDiskService(const groups::Deps& deps);

}  // namespace csi_proxy::disk
