// The handler of the filesystem group: its rules, the same on every host.
#pragma once

#include <memory>

#include "csi_proxy/filesystem/hub.h"
#include "server/groups/deps.h"

namespace csi_proxy::filesystem {

// Thread-safe. The hub's documentation states the promises of each method.
std::unique_ptr<Service> NewFilesystemService(const groups::Deps& deps);

}  // namespace csi_proxy::filesystem
