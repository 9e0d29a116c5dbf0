// What the parts of a simulated machine share: its state, the one lock around it, and the faults
// that every call passes.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "server/machine/simulated/state.h"

namespace csi_proxy::machine::simulated {

// Thread-safe.
class Core {
 public:
  explicit Core(NodeState state) : state_(std::move(state)) {}

  // Applies the fault table to `operation`, such as `volume.Format` or `win32.Flush`, on `resource`
  // (see FaultRule): OK if the operation may go on, possibly after a delay.
  absl::Status Pass(const CallContext& context, absl::string_view operation,
                    absl::string_view resource);

  // Whether any operation is delayed or fails.
  bool HasFaults() const {
    const std::lock_guard lock(mutex_);
    return !state_.faults.empty();
  }

  // A call of the machine: as Pass(), which may wait and so does without the lock, and then
  // `action(NodeState&)` under the lock, as one atomic step. Returns what `action` returns, a
  // Status or a StatusOr.
  template <typename Action>
  auto Run(const CallContext& context, absl::string_view operation, absl::string_view resource,
           Action action) -> decltype(action(std::declval<NodeState&>())) {
    if (absl::Status status = context.Check(); !status.ok()) return status;
    std::unique_lock lock(mutex_);
    if (!state_.faults.empty()) {
      lock.unlock();
      const absl::Status status = Pass(context, operation, resource);
      if (!status.ok()) return status;
      lock.lock();
    }
    Settle();
    return action(state_);
  }

  // The same for the administrator, to whom faults do not apply.
  template <typename Action>
  auto Change(Action action) -> decltype(action(std::declval<NodeState&>())) {
    const std::lock_guard lock(mutex_);
    Settle();
    return action(state_);
  }

 private:
  // Ends the pending states that are due. Under the lock.
  void Settle();

  // Not an absl::Mutex: ThreadSanitizer cannot see into one that was built without it.
  mutable std::mutex mutex_;
  NodeState state_;  // guarded by mutex_
};

// The first rule that matches this operation, if any. Counts it down, and removes it when it is
// used up.
std::optional<FaultRule> TakeFault(NodeState& state, absl::string_view operation,
                                   absl::string_view resource);

// Whether `pattern` (`volume.Format`, `volume.*`, `*`) matches the operation. `*` matches all
// operations of a host, but not the calls of the machine that they make, `win32.*` and `wmi.*`.
bool MatchesOperation(absl::string_view pattern, absl::string_view operation);

// Every operation that a rule can name: the host's, then the machine's.
const std::vector<absl::string_view>& Operations();

}  // namespace csi_proxy::machine::simulated
