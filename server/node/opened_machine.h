// A machine that this process has opened: its host, its locks and, if simulated, its faults.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "csi_proxy/log_function.h"
#include "server/base/start_thread.h"
#include "server/groups/node_services.h"
#include "server/host/host.h"
#include "server/locks/process_locks.h"

namespace csi_proxy {

struct OpenedMachine {
  OpenedMachine() = default;
  OpenedMachine(OpenedMachine&&) = default;
  // Waits at most `patience` for the runs that calls have left under way. If Windows has not ended
  // them by then, another thread closes the machine later. If no thread can be started, the machine
  // stays open. REQUIRES: no call is under way.
  ~OpenedMachine() {
    if (host == nullptr || host->EndRuns(patience)) return;
    const ThreadStarter start = start_thread;
    OpenedMachine* const left = std::make_unique<OpenedMachine>(std::move(*this)).release();
    auto closing = start([left] {
      left->host.reset();
      delete left;
    });
    if (closing.ok()) closing->detach();
  }

  // Lets the faults of a simulated machine fail calls of the services; null for a real machine.
  // Owns the simulated machine, so it must be the first member, which is destroyed after the host.
  std::function<void(groups::NodeServices&)> add_faults;
  std::unique_ptr<host::Host> host;
  // The locks that all processes of the machine share; null if no other process acts on the
  // machine.
  std::unique_ptr<ProcessLocks> processes;
  // Tests replace these two.
  absl::Duration patience = absl::Seconds(5);
  ThreadStarter start_thread = StartThread;
};

// Opens this machine. All processes that open it share its locks. Returns UNIMPLEMENTED unless this
// is a Windows node. `warn` receives warnings about problems that do not fail a call, for example
// that WMI does not answer yet. REQUIRES: `warn` is thread-safe.
absl::StatusOr<OpenedMachine> OpenThisMachine(const LineFunction& warn);

}  // namespace csi_proxy
