// A machine that this process has opened, with the rules of a node over it.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/base/process_locks.h"
#include "server/host/host.h"
#include "server/simulator/machine.h"

namespace csi_proxy {

struct OpenedMachine {
  // Null on a real machine; else the administrator's side, which `host` acts on.
  std::unique_ptr<machine::simulated::Machine> simulated;
  std::unique_ptr<host::Host> host;
  // Null: no other process acts on the machine.
  std::unique_ptr<ProcessLocks> processes;
};

// This machine; the calls of all processes that open it take turns. WMI has been asked once; if it
// did not answer, that is not a failure, but `warn` is told, as it is of everything an operator
// should know though no call fails, on any thread. UNIMPLEMENTED unless it is a Windows node.
absl::StatusOr<OpenedMachine> OpenThisMachine(const std::function<void(absl::string_view)>& warn);

// A simulated machine as `scenario`, a textproto called `name` in errors, or the name of a built-in
// scenario, describes it; without both the default one. INVALID_ARGUMENT as LoadScenario().
absl::StatusOr<OpenedMachine> OpenSimulatedMachine(absl::string_view scenario,
                                                   absl::string_view name);
absl::StatusOr<OpenedMachine> OpenSimulatedMachine();

}  // namespace csi_proxy
