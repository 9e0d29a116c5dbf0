// The handler of the smb group: its rules, the same on every host.
#pragma once

#include <memory>

#include "csi_proxy/smb/hub.h"
#include "server/groups/deps.h"

namespace csi_proxy::smb {

// Thread-safe. What each method promises stands in the hub's documentation.
std::unique_ptr<Service> NewSmbService(const groups::Deps& deps);

}  // namespace csi_proxy::smb
