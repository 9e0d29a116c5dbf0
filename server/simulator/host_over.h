// The host over a simulated machine.
#pragma once

#include <memory>

#include "server/host/host.h"
#include "server/simulator/machine.h"

namespace csi_proxy {

// `machine` must outlive the host.
std::unique_ptr<host::Host> HostOver(machine::simulated::Machine& machine);

}  // namespace csi_proxy
