#include "server/simulator/simulated_host.h"

#include <utility>

#include "csi_proxy/disk/faulty.h"
#include "csi_proxy/filesystem/faulty.h"
#include "csi_proxy/iscsi/faulty.h"
#include "csi_proxy/smb/faulty.h"
#include "csi_proxy/storage/faulty.h"
#include "csi_proxy/system/faulty.h"
#include "csi_proxy/volume/faulty.h"
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
                                             WarnFunction warn) {
  return std::make_unique<host::Host>(machine::simulator::wmi::NewSimulatedSession(machine.core()),
                                      machine::simulator::NewSimulatedOs(machine.core()),
                                      std::move(warn));
}

void AddFaults(FaultGate* faults, groups::NodeServices& services) {
  Add<disk::Faulty>(faults, services.disk);
  Add<filesystem::Faulty>(faults, services.filesystem);
  Add<iscsi::Faulty>(faults, services.iscsi);
  Add<smb::Faulty>(faults, services.smb);
  Add<storage::Faulty>(faults, services.storage);
  Add<system::Faulty>(faults, services.system);
  Add<volume::Faulty>(faults, services.volume);
}

OpenedMachine OpenSimulatedMachine(std::shared_ptr<machine::simulator::Machine> machine,
                                   WarnFunction warn) {
  OpenedMachine opened;
  opened.host = NewSimulatedHost(*machine, std::move(warn));
  opened.add_faults = [machine = std::move(machine)](groups::NodeServices& services) {
    AddFaults(machine.get(), services);
  };
  return opened;
}

}  // namespace csi_proxy
