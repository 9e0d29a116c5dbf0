// The faults of a simulated node that are named by what the host does, as `volume.Format`. Those
// of the machine under it, `win32.*` and `wmi.*`, strike in the machine itself.
#pragma once

#include <memory>

#include "server/host/host.h"
#include "server/simulator/machine.h"

namespace csi_proxy {

// The host over a simulated machine, each of whose operations passes the machine's fault table
// before it is done. `machine` must outlive it.
std::unique_ptr<host::Host> HostOver(machine::simulated::Machine& machine);
// The same host, which keeps the machine.
std::unique_ptr<host::Host> HostOver(std::shared_ptr<machine::simulated::Machine> machine);

}  // namespace csi_proxy
