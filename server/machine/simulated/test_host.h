// A host over a machine, for tests that change it the way calls do.
#pragma once

#include <memory>

#include "server/host/host.h"
#include "server/machine/simulated/machine.h"
#include "server/machine/simulated/win32/os_double.h"
#include "server/machine/simulated/wmi/session.h"
#include "server/node/named_faults.h"

namespace csi_proxy::machine::simulated {

// `machine` must outlive it.
inline std::unique_ptr<host::Host> HostOver(Machine& machine) {
  return WithNamedFaults(machine.core(), host::NewHost(wmi::NewSimulatedSession(machine.core()),
                                                       NewSimulatedOs(machine.core())));
}

}  // namespace csi_proxy::machine::simulated
