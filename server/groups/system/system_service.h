// The handler of the system group: its rules, the same on every host.
#pragma once

#include <memory>

#include "csi_proxy/system/hub.h"
#include "server/groups/deps.h"

namespace csi_proxy::system {

// Thread-safe. The hub's documentation states the promises of each method.
std::unique_ptr<Service> NewSystemService(const groups::Deps& deps);

}  // namespace csi_proxy::system
