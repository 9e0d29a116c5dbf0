// The common base of the parts of a simulated machine: its state, the one lock around it, and the
// faults that every call passes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
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
#include "server/base/status_macros.h"
#include "server/simulator/state.h"

namespace csi_proxy::machine::simulated {

// The requests to a machine since it was made.
struct CallCounts {
  int64_t win32_calls = 0;
  int64_t wmi_calls = 0;
  // The objects that WMI's answers held.
  int64_t wmi_objects = 0;
  // The time for which calls had the state to themselves, about.
  absl::Duration busy;
};

// Thread-safe.
class Core {
 public:
  explicit Core(NodeState state) : state_(std::move(state)) {}

  // The effects of a fault besides an error and a delay.
  struct FaultEffects {
    // The time at which an operation that its caller has left does its work.
    absl::Time goes_on_at = absl::InfiniteFuture();
    AnsweredObjects objects = AnsweredObjects::kAll;
  };

  // Applies the fault table to `operation`, such as `volume.FormatVolume` or `win32.Flush`, on any
  // of `resources` (see FaultRule): OK if the operation may go on, possibly after a delay.
  absl::Status Pass(const CallContext& context, absl::string_view operation,
                    absl::Span<const std::string> resources, FaultEffects* effects = nullptr);

  // Tells whether the fault table has a rule.
  bool HasFaults() const {
    const std::lock_guard lock(mutex_);
    return !state_.faults.empty();
  }

  // A call of the machine: as Pass(), which may wait and so does without the lock, and then
  // `action(NodeState&)` under the lock, as one atomic step. Returns what `action` returns, a
  // Status or a StatusOr.
  template <typename Action>
  auto Run(const CallContext& context, absl::string_view operation, absl::string_view resource,
           Action action, FaultEffects* effects = nullptr)
      -> decltype(action(std::declval<NodeState&>())) {
    ABSL_RETURN_IF_ERROR(context.Check());
    std::unique_lock lock(mutex_);
    const bool is_wmi = Count(operation);
    if (!state_.faults.empty()) {
      lock.unlock();
      const absl::Status status = Pass(context, operation, {std::string(resource)}, effects);
      if (!status.ok()) return status;
      lock.lock();
    }
    return Step(action, is_wmi);
  }

  // Does `work` under the lock at a later time.
  void Later(absl::Time time, std::function<void(NodeState&)> work) {
    const std::lock_guard lock(mutex_);
    later_.emplace(time, std::move(work));
  }

  // The same for the administrator, to whom faults do not apply.
  template <typename Action>
  auto Change(Action action) -> decltype(action(std::declval<NodeState&>())) {
    const std::lock_guard lock(mutex_);
    return Step(action, false);
  }

  // As those of machine::Os.
  uint64_t DeviceChanges();
  void AwaitDeviceChange(uint64_t seen, absl::Duration limit);

  // An answer of WMI holds so many objects.
  void CountObjects(size_t objects) {
    const std::lock_guard lock(mutex_);
    counts_.wmi_objects += static_cast<int64_t>(objects);
  }
  CallCounts counts() const;

 private:
  // Reading the clock takes as long as most steps of Win32, so one of so many is timed.
  static constexpr int kStepsToOneTimed = 8;

  // Adds its own life to a sum, so many times.
  class Stopwatch {
   public:
    Stopwatch(absl::Duration* sum, int times) : sum_(*sum), times_(times) {}
    ~Stopwatch() { sum_ += times_ * absl::FromChrono(std::chrono::steady_clock::now() - begin_); }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

   private:
    absl::Duration& sum_;
    const int times_;
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  };

  template <typename Action>
  auto Step(Action& action, bool is_long) -> decltype(action(std::declval<NodeState&>())) {
    Settle();
    // Not every eighth: the steps of a call that is repeated may be a multiple of that.
    random_ = random_ * 6364136223846793005 + 1442695040888963407;
    if (!is_long && (random_ >> 32) % kStepsToOneTimed != 0) return action(state_);
    const Stopwatch stopwatch(&counts_.busy, is_long ? 1 : kStepsToOneTimed);
    return action(state_);
  }

  // The time at which a device comes by itself.
  absl::Time next_arrival() const;

  // Counts a call; returns whether it is one of WMI's.
  bool Count(absl::string_view operation);

  // Ends the pending states that are due, and does the work that is. Under the lock.
  void Settle();

  // Not an absl::Mutex: ThreadSanitizer cannot see into one that was built without it.
  mutable std::mutex mutex_;
  // All are guarded by mutex_.
  NodeState state_;
  CallCounts counts_;
  std::multimap<absl::Time, std::function<void(NodeState&)>> later_;
  uint64_t random_ = 1;
};

// The first rule that matches this operation, if any. Counts it down, and removes it when it is
// used up.
std::optional<FaultRule> TakeFault(NodeState& state, absl::string_view operation,
                                   absl::Span<const std::string> resources);

// Tells whether `pattern` (`volume.FormatVolume`, `volume.*`, `*`) matches the operation. `*`
// matches every rpc, but not the calls of the machine that rpcs make, `win32.*` and `wmi.*`.
bool MatchesOperation(absl::string_view pattern, absl::string_view operation);

// Every operation that a rule can name: the rpcs, then the calls of the machine.
const std::vector<absl::string_view>& Operations();

}  // namespace csi_proxy::machine::simulated
