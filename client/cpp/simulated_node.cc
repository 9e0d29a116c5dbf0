#include "client/cpp/simulated_node.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/own_node.h"
#include "server/base/process_locks.h"
#include "server/node/opened_machine.h"
#include "server/simulator/named_faults.h"
#include "server/simulator/scenario.h"

namespace csi_proxy {
namespace client {
namespace {

absl::StatusOr<OpenedMachine> Open(std::shared_ptr<machine::simulated::Machine> machine,
                                   const std::string& lock_directory) {
  OpenedMachine opened;
  opened.host = HostOver(std::move(machine));
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
  absl::StatusOr<std::shared_ptr<Node>> node =
      OwnNode::Create(std::move(options), [&](const LogFunction&) -> absl::StatusOr<OpenedMachine> {
        auto machine =
            machine::simulated::LoadScenario(scenario.empty() ? "default" : scenario, "scenario");
        if (!machine.ok()) return machine.status();
        opened.machine = *std::move(machine);
        return Open(opened.machine, lock_directory);
      });
  if (!node.ok()) return node.status();
  opened.node = *std::move(node);
  return opened;
}

}  // namespace client

absl::StatusOr<std::shared_ptr<Node>> Node::Simulated(NodeOptions options,
                                                      absl::string_view scenario) {
  absl::StatusOr<client::NodeAndMachine> opened =
      client::OpenSimulatedNode(std::move(options), scenario);
  if (!opened.ok()) return opened.status();
  return std::move(opened->node);
}

}  // namespace csi_proxy
