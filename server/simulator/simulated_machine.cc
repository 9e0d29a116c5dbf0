#include <utility>

#include "server/node/opened_machine.h"
#include "server/simulator/named_faults.h"
#include "server/simulator/scenario.h"

namespace csi_proxy {

using machine::simulated::DefaultScenarioText;
using machine::simulated::LoadScenario;

absl::StatusOr<OpenedMachine> OpenSimulatedMachine(absl::string_view scenario,
                                                   absl::string_view name) {
  auto machine = LoadScenario(scenario, name);
  if (!machine.ok()) return machine.status();
  OpenedMachine opened;
  opened.simulated = *std::move(machine);
  opened.host = HostOver(*opened.simulated);
  return opened;
}

absl::StatusOr<OpenedMachine> OpenSimulatedMachine() {
  return OpenSimulatedMachine(DefaultScenarioText(), "default scenario");
}

}  // namespace csi_proxy
