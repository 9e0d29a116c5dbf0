// The handler of the storage group: its rules, the same on every host.
#pragma once

#include <memory>

#include "csi_proxy/storage/hub.h"
#include "server/groups/deps.h"

namespace csi_proxy::storage {

// Thread-safe. The hub's documentation states the promises of each method.
std::unique_ptr<Service> NewStorageService(const groups::Deps& deps);

}  // namespace csi_proxy::storage
