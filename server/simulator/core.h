// The base that all parts of a simulated machine share: its state, the one lock around it, and the
// faults that every call passes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"
#include "server/base/status_macros.h"
#include "server/simulator/state.h"

namespace csi_proxy::machine::simulator {

// The number of requests to a machine since it was made.
struct CallCounts {
  int64_t win32_calls = 0;
  int64_t wmi_calls = 0;
  // The objects in WMI's answers.
  int64_t wmi_objects = 0;
};

// Thread-safe.
class Core {
 public:
  explicit Core(NodeState state) : state_(std::move(state)) {}

  // The effects of a fault besides an error and a delay.
  struct FaultEffects {
    // The time at which the operation does its work although its caller has given up.
    SteadyTime goes_on_at = SteadyTime::InfiniteFuture();
    AnsweredObjects objects = AnsweredObjects::kAll;
  };

  // Applies the fault table to `operation`, such as `win32.Flush`, on any of `resources` (see
  // FaultRule). Returns the fault's error after its delay, Check() of an ended call, or OK.
  absl::Status Pass(const CallContext& context, absl::string_view operation,
                    absl::Span<const std::string> resources, FaultEffects* effects = nullptr);

  // Returns true if the fault table has a rule.
  bool HasFaults() const {
    const MutexLock lock(mutex_);
    return !state_.faults.empty();
  }

  // Runs a call of the machine: applies the fault table, not holding the lock during a delay, then
  // runs `action(NodeState&)` under the lock as one atomic step. Returns Pass()'s error or the
  // result of `action`, a Status or a StatusOr.
  template <typename Action>
  auto Run(const CallContext& context, absl::string_view operation, absl::string_view resource,
           Action action, FaultEffects* effects = nullptr)
      -> decltype(action(std::declval<NodeState&>())) {
    ABSL_RETURN_IF_ERROR(context.Check());
    {
      const MutexLock lock(mutex_);
      Count(operation);
      if (state_.faults.empty()) return Step(action);
    }
    ABSL_RETURN_IF_ERROR(Pass(context, operation, {std::string(resource)}, effects));
    const MutexLock lock(mutex_);
    return Step(action);
  }

  // Runs `work` under the lock, before the action of the first Run() or Change() after `time`.
  void RunLater(SteadyTime time, std::function<void(NodeState&)> work) {
    const MutexLock lock(mutex_);
    later_.emplace(time, std::move(work));
  }

  // Runs `action(NodeState&)` for the administrator, to whom faults do not apply.
  template <typename Action>
  auto Change(Action action) -> decltype(action(std::declval<NodeState&>())) {
    const MutexLock lock(mutex_);
    return Step(action);
  }

  // Implement the functions of machine::Os with these names.
  uint64_t DeviceChanges();
  void AwaitDeviceChange(uint64_t seen, absl::Duration limit);

  // Counts the objects of one answer of WMI.
  void CountObjects(size_t objects) {
    const MutexLock lock(mutex_);
    counts_.wmi_objects += static_cast<int64_t>(objects);
  }
  CallCounts counts() const;

 private:
  template <typename Action>
  decltype(auto) Step(Action& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    AdvanceClock();
    return action(state_);
  }

  // Returns when the next device arrives without a rescan.
  SteadyTime next_arrival() const;

  // Counts a call of Win32 or WMI; ignores other operations.
  void Count(absl::string_view operation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Runs the work of RunLater() that is due, and ends the services' pending states that are over.
  void AdvanceClock() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  NodeState state_ ABSL_GUARDED_BY(mutex_);
  CallCounts counts_ ABSL_GUARDED_BY(mutex_);
  std::multimap<SteadyTime, std::function<void(NodeState&)>> later_ ABSL_GUARDED_BY(mutex_);
};

// Returns the first rule that matches the operation and one of the resources, if any. Counts the
// rule down, and removes it when it is used up.
std::optional<FaultRule> TakeFault(NodeState& state, absl::string_view operation,
                                   absl::Span<const std::string> resources);

// Returns true if `pattern` (`volume.FormatVolume`, `volume.*`, `*`) matches the operation. `*`
// matches every rpc, but not the calls of the machine that rpcs make, `win32.*` and `wmi.*`.
bool MatchesOperation(absl::string_view pattern, absl::string_view operation);

// Returns every operation that a rule can name: the rpcs, then the calls of the machine.
const std::vector<std::string>& Operations();

}  // namespace csi_proxy::machine::simulator
