// The handler of the system group: its rules, the same on every host.
#pragma once

#include <memory>

#include "csi_proxy/system/hub.h"
#include "server/groups/deps.h"

namespace csi_proxy::system {

// Thread-safe. What each method promises stands in the hub's documentation.
std::unique_ptr<Service> NewSystemService(const groups::Deps& deps);

}  // namespace csi_proxy::system
