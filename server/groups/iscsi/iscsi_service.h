// The handler of the iscsi group: its rules, the same on every host.
#pragma once

#include <memory>

#include "csi_proxy/iscsi/hub.h"
#include "server/groups/deps.h"

namespace csi_proxy::iscsi {

// Thread-safe. What each method promises stands in the hub's documentation.
std::unique_ptr<Service> NewIscsiService(const groups::Deps& deps);

}  // namespace csi_proxy::iscsi
