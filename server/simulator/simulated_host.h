// Makes a node of a simulated machine: its host, and faults before the services.
#pragma once

#include <functional>
#include <memory>

#include "server/base/fault_gate.h"
#include "server/groups/node_services.h"
#include "server/host/host.h"
#include "server/node/opened_machine.h"
#include "server/simulator/machine.h"

namespace csi_proxy {

// Receives the warnings that the host otherwise only logs.
using WarnFunction = std::function<void(absl::string_view line)>;

// Makes the host. REQUIRES: `machine` outlives it.
std::unique_ptr<host::Host> NewSimulatedHost(machine::simulator::Machine& machine,
                                             WarnFunction warn = nullptr);

// Puts `faults` before each of the services. REQUIRES: `faults` outlives them.
void AddFaults(FaultGate* faults, groups::NodeServices& services);

// Returns the machine with its host and its faults. `processes` stays null.
OpenedMachine OpenSimulatedMachine(std::shared_ptr<machine::simulator::Machine> machine,
                                   WarnFunction warn = nullptr);

}  // namespace csi_proxy
