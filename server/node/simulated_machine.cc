#include <utility>

#include "server/machine/simulated/scenario.h"
#include "server/machine/simulated/win32/os_double.h"
#include "server/machine/simulated/wmi/session.h"
#include "server/node/named_faults.h"
#include "server/node/opened_machine.h"

namespace csi_proxy {

using machine::simulated::Core;
using machine::simulated::DefaultScenarioText;
using machine::simulated::LoadScenario;
using machine::simulated::NewSimulatedOs;
using machine::simulated::wmi::NewSimulatedSession;

absl::StatusOr<OpenedMachine> OpenSimulatedMachine(absl::string_view scenario,
                                                   absl::string_view name) {
  auto machine = LoadScenario(scenario, name);
  if (!machine.ok()) return machine.status();
  OpenedMachine opened;
  opened.simulated = *std::move(machine);
  Core* const core = opened.simulated->core();
  opened.host =
      WithNamedFaults(core, host::NewHost(NewSimulatedSession(core), NewSimulatedOs(core)));
  return opened;
}

absl::StatusOr<OpenedMachine> OpenSimulatedMachine() {
  return OpenSimulatedMachine(DefaultScenarioText(), "default scenario");
}

}  // namespace csi_proxy
