#include "server/service/open_node.h"

#include <spdlog/spdlog.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/service/logging.h"
#include "server/service/spdlog_audit_sink.h"
#include "server/simulator/named_scenarios.h"

namespace csi_proxy {
namespace {

absl::StatusOr<OpenedMachine> OpenSimulated(const std::string& scenario) {
  if (scenario.empty()) return OpenSimulatedMachine();
  if (machine::simulated::IsScenario(scenario)) return OpenSimulatedMachine(scenario, scenario);
  // In UTF-8, whatever Windows' code page.
  const std::filesystem::path path(std::u8string(scenario.begin(), scenario.end()));
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return absl::NotFoundError(absl::StrCat("--scenario: cannot read ", scenario,
                                            ", and --list-scenarios has none of that name"));
  }
  std::ostringstream text;
  text << file.rdbuf();
  return OpenSimulatedMachine(text.str(), scenario);
}

absl::StatusOr<OpenedMachine> OpenMachine(const Options& options) {
  if (options.host == HostKind::kSimulated) return OpenSimulated(options.scenario);
  absl::StatusOr<OpenedMachine> machine =
      OpenThisMachine([](absl::string_view line) { spdlog::warn("{}", std::string(line)); });
  if (machine.ok()) return machine;
  return absl::Status(machine.status().code(),
                      absl::StrCat("--host=windows: ", machine.status().message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ManagedNode>> NewNode(const Options& options,
                                                     OpenedMachine machine) {
  absl::StatusOr<NodeRules> rules = NodeRules::Parse(
      "--working-dir", options.working_dirs, options.allowed_services, options.require_privacy);
  if (!rules.ok()) return rules.status();
  rules->bind_smb_credentials = options.bind_smb_credentials;
  return std::make_unique<ManagedNode>(
      std::move(machine), *std::move(rules),
      std::make_unique<observability::SpdlogAuditSink>(spdlog::get(observability::kAuditLogger),
                                                       options.log.format),
      [](absl::string_view line) { spdlog::info("{}", std::string(line)); });
}

absl::StatusOr<std::unique_ptr<ManagedNode>> OpenNode(const Options& options) {
  absl::StatusOr<OpenedMachine> machine = OpenMachine(options);
  if (!machine.ok()) return machine.status();
  return NewNode(options, *std::move(machine));
}

}  // namespace csi_proxy
