// What the parts of a simulated machine share: its state, the one lock around it, and the faults
// that every call passes.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/machine/simulated/state.h"

namespace csi_proxy::machine::simulated {

// What has been asked of a machine since it was made.
struct CallCounts {
  int64_t win32_calls = 0;
  int64_t wmi_calls = 0;
  // That WMI's answers held.
  int64_t wmi_objects = 0;
  // How long calls had the state to themselves, about.
  absl::Duration busy;
};

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
    Count(operation);
    if (!state_.faults.empty()) {
      lock.unlock();
      const absl::Status status = Pass(context, operation, resource);
      if (!status.ok()) return status;
      lock.lock();
    }
    return Step(action);
  }

  // The same for the administrator, to whom faults do not apply.
  template <typename Action>
  auto Change(Action action) -> decltype(action(std::declval<NodeState&>())) {
    const std::lock_guard lock(mutex_);
    return Step(action);
  }

  // An answer of WMI holds so many objects.
  void CountObjects(size_t objects) {
    const std::lock_guard lock(mutex_);
    counts_.wmi_objects += static_cast<int64_t>(objects);
  }
  CallCounts counts() const;

 private:
  // Only one step of so many is timed, since reading the clock takes as long as many a step.
  static constexpr int kTimedSteps = 7;

  // Adds its own life to a sum, for all the steps that are not timed as well.
  class Stopwatch {
   public:
    explicit Stopwatch(absl::Duration* sum) : sum_(*sum) {}
    ~Stopwatch() {
      const auto passed = std::chrono::steady_clock::now() - begin_;
      sum_ += kTimedSteps * absl::FromChrono(passed);
    }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

   private:
    absl::Duration& sum_;
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  };

  template <typename Action>
  auto Step(Action& action) -> decltype(action(std::declval<NodeState&>())) {
    Settle();
    if (++steps_ % kTimedSteps != 0) return action(state_);
    const Stopwatch stopwatch(&counts_.busy);
    return action(state_);
  }

  void Count(absl::string_view operation);

  // Ends the pending states that are due. Under the lock.
  void Settle();

  // Not an absl::Mutex: ThreadSanitizer cannot see into one that was built without it.
  mutable std::mutex mutex_;
  // All are guarded by mutex_.
  NodeState state_;
  CallCounts counts_;
  uint64_t steps_ = 0;
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
