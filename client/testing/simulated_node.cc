#include "client/testing/simulated_node.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/own_node.h"
#include "server/base/status_macros.h"
#include "server/locks/process_locks.h"
#include "server/node/opened_machine.h"
#include "server/node/simulated_host.h"
#include "server/simulator/scenario.h"

namespace csi_proxy {
namespace client {
namespace {

absl::StatusOr<OpenedMachine> Open(std::shared_ptr<machine::simulator::Machine> machine,
                                   const std::string& lock_directory, LineFunction warn) {
  OpenedMachine opened = OpenSimulatedMachine(std::move(machine), std::move(warn));
  if (lock_directory.empty()) return opened;
  absl::StatusOr<std::unique_ptr<ProcessLocks>> locks = NewProcessLocks(lock_directory);
  if (!locks.ok()) {
    return absl::Status(locks.status().code(),
                        absl::StrCat("lock_directory: ", locks.status().message()));
  }
  opened.processes = *std::move(locks);
  return opened;
}

}  // namespace

absl::StatusOr<NodeAndMachine> OpenSimulatedNode(NodeOptions options, absl::string_view scenario) {
  const std::string lock_directory = options.lock_directory;
  NodeAndMachine opened;
  ABSL_ASSIGN_OR_RETURN(
      std::shared_ptr<Node> node,
      OwnNode::Create(std::move(options), [&](auto warn) -> absl::StatusOr<OpenedMachine> {
        ABSL_ASSIGN_OR_RETURN(
            auto machine,
            machine::simulator::LoadScenario(scenario.empty() ? "default" : scenario, "scenario"));
        opened.machine = std::move(machine);
        return Open(opened.machine, lock_directory, std::move(warn));
      }));
  opened.node = std::move(node);
  return opened;
}

}  // namespace client

absl::StatusOr<std::shared_ptr<Node>> Node::Simulated(NodeOptions options,
                                                      absl::string_view scenario) {
  ABSL_ASSIGN_OR_RETURN(client::NodeAndMachine opened,
                        client::OpenSimulatedNode(std::move(options), scenario));
  return std::move(opened.node);
}

}  // namespace csi_proxy
