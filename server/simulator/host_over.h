// A node over a simulated machine: its host, and its faults before the services.
#pragma once

#include <functional>
#include <memory>

#include "server/base/fault_gate.h"
#include "server/groups/node_services.h"
#include "server/host/host.h"
#include "server/node/opened_machine.h"
#include "server/simulator/machine.h"

namespace csi_proxy {

// Hears of what the host only logs.
using WarnFunction = std::function<void(absl::string_view line)>;

// `machine` must outlive the host.
std::unique_ptr<host::Host> HostOver(machine::simulated::Machine& machine,
                                     WarnFunction warn = nullptr);

// Puts `faults`, which must outlive the services, before each of them.
void AddFaults(FaultGate* faults, groups::NodeServices& services);

// The machine with its host and its faults. `processes` stays null.
OpenedMachine Opened(std::shared_ptr<machine::simulated::Machine> machine,
                     WarnFunction warn = nullptr);

}  // namespace csi_proxy
