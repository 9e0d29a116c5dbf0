// The handler of the iscsi group: its rules, the same on every host.
#pragma once

#include <memory>

#include "csi_proxy/iscsi/hub.h"
#include "server/groups/deps.h"

namespace csi_proxy::iscsi {

// Thread-safe. The hub's documentation states the promises of each method.
std::unique_ptr<Service> NewIscsiService(const groups::Deps& deps);

}  // namespace csi_proxy::iscsi
