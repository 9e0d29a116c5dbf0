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

  // The fault table's say about `operation`, as `volume.Format` or `win32.Flush`, on `resource`
  // (see FaultRule): OK when it may go on, after a delay or not.
  absl::Status Pass(const CallContext& context, absl::string_view operation,
                    absl::string_view resource);

  // A call of the machine. First Pass(), without the lock, since it may wait; then
  // `action(NodeState&)` runs as one step that no other call can come between. Returns what it
  // returns, a Status or a StatusOr.
  template <typename Action>
  auto Run(const CallContext& context, absl::string_view operation, absl::string_view resource,
           Action action) -> decltype(action(std::declval<NodeState&>())) {
    if (absl::Status status = Pass(context, operation, resource); !status.ok()) return status;
    return Change(std::move(action));
  }

  // The same for the administrator, whom no fault stops.
  template <typename Action>
  auto Change(Action action) -> decltype(action(std::declval<NodeState&>())) {
    const std::lock_guard lock(mutex_);
    Settle();
    return action(state_);
  }

 private:
  // Ends the pending states whose time has come. Under the lock.
  void Settle();

  // Not an absl::Mutex: ThreadSanitizer cannot see into one that was built without it.
  std::mutex mutex_;
  NodeState state_;  // guarded by mutex_
};

// The rule that strikes this operation, counted down and removed when used up; nothing when none.
// The first that matches wins.
std::optional<FaultRule> TakeFault(NodeState& state, absl::string_view operation,
                                   absl::string_view resource);

// Whether `pattern` (`volume.Format`, `volume.*`, `*`) names the operation. `*` is for what a host
// does, each once, and not for the calls of the machine in it, `win32.*` and `wmi.*`.
bool MatchesOperation(absl::string_view pattern, absl::string_view operation);

// Every operation a rule can name: the host's, then the machine's.
const std::vector<absl::string_view>& Operations();

}  // namespace csi_proxy::machine::simulated
