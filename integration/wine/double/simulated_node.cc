#include "integration/wine/double/simulated_node.h"

#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/simulator/scenario.h"
#include "server/simulator/win32/os_double.h"

namespace csi_proxy::node_double {
namespace {

SimulatedNode* the_node = nullptr;

absl::StatusOr<std::unique_ptr<machine::simulator::Machine>> Load(
    const std::string& scenario_file) {
  if (scenario_file.empty()) return machine::simulator::LoadScenario("default", "default");
  if (machine::simulator::IsScenario(scenario_file)) {
    return machine::simulator::LoadScenario(scenario_file, scenario_file);
  }
  std::ifstream file(scenario_file, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", scenario_file));
  std::ostringstream text;
  text << file.rdbuf();
  return machine::simulator::LoadScenario(text.str(), scenario_file);
}

}  // namespace

absl::Status BeginNode(const std::string& scenario_file) {
  absl::StatusOr<std::unique_ptr<machine::simulator::Machine>> node = Load(scenario_file);
  if (!node.ok()) return node.status();
  machine::simulator::Core* const core = (*node)->core();
  the_node = new SimulatedNode{*std::move(node), machine::simulator::wmi::NewSimulatedSession(core),
                               machine::simulator::NewSimulatedOs(core)};
  return absl::OkStatus();
}

SimulatedNode& TheNode() { return *the_node; }

}  // namespace csi_proxy::node_double
