// What the six interfaces of one simulated node share: its state, the lock on it, and the faults
// that strike before an operation.
#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/base/call_context.h"
#include "server/host/simulated/state.h"

namespace csi_proxy::host::simulated {

// Thread-safe. `mutex` is held for the whole of an operation's look and act, so a check and what
// follows it are one step; it is never held while waiting.
struct Core {
  explicit Core(NodeState initial) : state(std::move(initial)) {}

  // To be called first by every operation, without the lock: fails as the first rule of the fault
  // table that matches says, after its latency. `operation` is `<group>.<Method>`.
  absl::Status Begin(const CallContext& context, absl::string_view operation,
                     absl::string_view resource) ABSL_LOCKS_EXCLUDED(mutex);

  absl::Mutex mutex;
  NodeState state ABSL_GUARDED_BY(mutex);
};

}  // namespace csi_proxy::host::simulated
