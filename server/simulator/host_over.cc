#include "server/simulator/host_over.h"

#include "server/simulator/win32/os_double.h"
#include "server/simulator/wmi/session.h"

namespace csi_proxy {

std::unique_ptr<host::Host> HostOver(machine::simulated::Machine& machine) {
  return host::NewHost(machine::simulated::wmi::NewSimulatedSession(machine.core()),
                       machine::simulated::NewSimulatedOs(machine.core()));
}

}  // namespace csi_proxy
