// How this library opens machines.
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/own_node.h"
#include "server/base/process_locks.h"
#include "server/node/opened_machine.h"

namespace csi_proxy {
namespace {

absl::StatusOr<OpenedMachine> OpenSimulated(absl::string_view scenario,
                                            const std::string& lock_directory) {
  absl::StatusOr<OpenedMachine> machine =
      scenario.empty() ? OpenSimulatedMachine() : OpenSimulatedMachine(scenario, "scenario");
  if (!machine.ok() || lock_directory.empty()) return machine;
  absl::StatusOr<std::unique_ptr<ProcessLocks>> locks = NewProcessLocks(lock_directory);
  if (!locks.ok()) {
    return absl::Status(locks.status().code(),
                        absl::StrCat("lock_directory: ", locks.status().message()));
  }
  machine->processes = *std::move(locks);
  return machine;
}

}  // namespace

absl::StatusOr<std::shared_ptr<Node>> Node::Simulated(NodeOptions options,
                                                      absl::string_view scenario) {
  const std::string lock_directory = options.lock_directory;
  return client::OwnNode::Create(std::move(options), [&](const LogFunction&) {
    return OpenSimulated(scenario, lock_directory);
  });
}

absl::StatusOr<std::shared_ptr<Node>> Node::Windows(NodeOptions options) {
  return client::OwnNode::Create(std::move(options), [](const LogFunction& log) {
    return OpenThisMachine([log](absl::string_view line) { log(Severity::kWarning, line); });
  });
}

}  // namespace csi_proxy
