// A machine that this process has opened, with the rules of a node over it.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/base/process_locks.h"
#include "server/groups/node_services.h"
#include "server/host/host.h"

namespace csi_proxy {

struct OpenedMachine {
  // Puts the faults of a simulated machine before the services; null for a real one. The function
  // keeps the machine, so it is the first member and ends after the host.
  std::function<void(groups::NodeServices&)> add_faults;
  std::unique_ptr<host::Host> host;
  // Null: no other process acts on the machine.
  std::unique_ptr<ProcessLocks> processes;
};

// This machine; the calls of all processes that open it take turns. WMI has been asked once; if it
// did not answer, that is not a failure, but `warn` is told, as it is of everything an operator
// should know though no call fails, on any thread. UNIMPLEMENTED unless it is a Windows node.
absl::StatusOr<OpenedMachine> OpenThisMachine(const std::function<void(absl::string_view)>& warn);

}  // namespace csi_proxy
