// Makes the host of a simulated machine, and lets the machine's faults fail calls of the services.
#pragma once

#include <memory>

#include "csi_proxy/log_function.h"
#include "server/base/fault_gate.h"
#include "server/groups/node_services.h"
#include "server/host/host.h"
#include "server/node/opened_machine.h"
#include "server/simulator/machine.h"

namespace csi_proxy {

// Makes the host of a simulated machine. REQUIRES: `machine` outlives the host.
std::unique_ptr<host::Host> NewSimulatedHost(machine::simulator::Machine& machine,
                                             LineFunction warn = nullptr);

// Wraps each service so that its calls pass `faults` first. REQUIRES: `faults` outlives the
// services.
void AddFaults(FaultGate* faults, groups::NodeServices& services);

// Returns the machine with its host and its faults. `processes` stays null.
OpenedMachine OpenSimulatedMachine(std::shared_ptr<machine::simulator::Machine> machine,
                                   LineFunction warn = nullptr);

}  // namespace csi_proxy
