// The handler of the smb group: its rules, the same on every host.
#pragma once

#include <memory>

#include "csi_proxy/smb/hub.h"
#include "server/groups/deps.h"

namespace csi_proxy::smb {

// Thread-safe. The hub's documentation states the promises of each method.
std::unique_ptr<Service> NewSmbService(const groups::Deps& deps);

}  // namespace csi_proxy::smb
