#include <utility>

#include "absl/strings/str_cat.h"
#include "client/host/node_host.h"
#include "server/base/process_locks.h"
#include "server/machine/simulated/admin_methods.h"
#include "server/machine/simulated/machine.h"
#include "server/machine/simulated/scenario.h"

namespace csi_proxy {
namespace {

using client::NodeParts;

absl::StatusOr<NodeParts> OpenNode(absl::string_view scenario, const std::string& lock_directory) {
  auto node = scenario.empty() ? machine::simulated::LoadScenario(
                                     machine::simulated::DefaultScenarioText(), "default scenario")
                               : machine::simulated::LoadScenario(scenario, "scenario");
  if (!node.ok()) return node.status();
  NodeParts parts;
  if (!lock_directory.empty()) {
    absl::StatusOr<std::unique_ptr<ProcessLocks>> locks = NewProcessLocks(lock_directory);
    if (!locks.ok()) {
      return absl::Status(locks.status().code(),
                          absl::StrCat("lock_directory: ", locks.status().message()));
    }
    parts.processes = *std::move(locks);
  }
  parts.administer = [node = node->get()](absl::string_view method, const std::string& request) {
    return machine::simulated::CallAdmin(*node, method, request);
  };
  parts.node = *std::move(node);
  return parts;
}

}  // namespace

absl::StatusOr<std::shared_ptr<Node>> Node::Simulated(NodeOptions options,
                                                      absl::string_view scenario) {
  std::string lock_directory = options.lock_directory;
  return client::NewNodeHost(
      std::move(options), [&](const LogFunction&) { return OpenNode(scenario, lock_directory); });
}

}  // namespace csi_proxy
