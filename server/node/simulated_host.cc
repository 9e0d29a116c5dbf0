#include "server/node/simulated_host.h"

#include <utility>

#include "csi_proxy/all_faulty.h"
#include "server/simulator/win32/os_double.h"
#include "server/simulator/wmi/session.h"

namespace csi_proxy {
namespace {

template <typename Faulty, typename Service>
void Add(FaultGate* faults, groups::Audited<Service>& group) {
  group.service = std::make_unique<Faulty>(std::move(group.service), faults);
}

}  // namespace

std::unique_ptr<host::Host> NewSimulatedHost(machine::simulator::Machine& machine,
                                             LineFunction warn) {
  return std::make_unique<host::Host>(machine::simulator::wmi::NewSimulatedSession(machine.core()),
                                      machine::simulator::NewSimulatedOs(machine.core()),
                                      std::move(warn));
}

void AddFaults(FaultGate* faults, groups::NodeServices& services) {
#define ADD_FAULTS(group) Add<group::Faulty>(faults, services.group);
  CSI_PROXY_FOR_EACH_GROUP(ADD_FAULTS)
#undef ADD_FAULTS
}

OpenedMachine OpenSimulatedMachine(std::shared_ptr<machine::simulator::Machine> machine,
                                   LineFunction warn) {
  OpenedMachine opened;
  opened.host = NewSimulatedHost(*machine, std::move(warn));
  opened.add_faults = [machine = std::move(machine)](groups::NodeServices& services) {
    AddFaults(machine.get(), services);
  };
  return opened;
}

}  // namespace csi_proxy
