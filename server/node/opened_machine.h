// A machine that this process has opened, with the rules of a node over it.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "csi_proxy/log_function.h"
#include "server/base/process_locks.h"
#include "server/groups/node_services.h"
#include "server/host/host.h"

namespace csi_proxy {

struct OpenedMachine {
  // Puts the faults of a simulated machine before the services; null for a real one. Holds the
  // machine, so it must be the first member, destroyed after the host.
  std::function<void(groups::NodeServices&)> add_faults;
  std::unique_ptr<host::Host> host;
  // Null if no other process acts on the machine.
  std::unique_ptr<ProcessLocks> processes;
};

// Opens this machine, whose locks are shared with all processes that open it. Returns UNIMPLEMENTED
// unless this is a Windows node. `warn`, which must be thread-safe, gets all that operators should
// know although no call fails, such as that WMI does not answer yet.
absl::StatusOr<OpenedMachine> OpenThisMachine(const LineFunction& warn);

}  // namespace csi_proxy
