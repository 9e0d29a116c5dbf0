#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/node/simulated_host.h"
#include "server/service/admin_service.h"
#include "server/service/open_node.h"
#include "server/simulator/admin.h"
#include "server/simulator/scenario.h"

namespace csi_proxy {
namespace {

using machine::simulator::Machine;

absl::StatusOr<std::unique_ptr<Machine>> Load(const std::string& scenario) {
  using machine::simulator::LoadScenario;
  if (scenario.empty()) return LoadScenario("default", "default");
  if (machine::simulator::IsScenario(scenario)) return LoadScenario(scenario, scenario);
  // Reads the name as UTF-8, independent of Windows' code page.
  const std::filesystem::path path(std::u8string(scenario.begin(), scenario.end()));
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return absl::NotFoundError(absl::StrCat("--scenario: cannot read ", scenario,
                                            ", and --list-scenarios has none of that name"));
  }
  std::ostringstream text;
  text << file.rdbuf();
  return LoadScenario(text.str(), scenario);
}

}  // namespace

absl::StatusOr<OpenedMachine> OpenSimulation(const std::string& scenario, LineFunction warn,
                                             std::vector<ExtraService>* services) {
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<Machine> loaded, Load(scenario));
  const std::shared_ptr<Machine> machine = std::move(loaded);
  services->push_back({.pipe_name = "csi-proxy-admin",
                       .full_name = machine::simulator::kAdminServiceName,
                       .service = machine::simulator::NewAdminService(machine)});
  return OpenSimulatedMachine(machine, std::move(warn));
}

absl::StatusOr<std::string> ListScenarios() { return machine::simulator::ListScenarios(); }

}  // namespace csi_proxy
