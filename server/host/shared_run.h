// Shares the result of one run among the calls that ask for it at the same time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "csi_proxy/call_context.h"
#include "server/base/condition.h"

namespace csi_proxy::host {

// Runs a function once for all calls that ask for it at the same time. `T` is an absl::Status or
// StatusOr, of which each call gets a copy. Thread-safe.
//
// A run serves only calls that asked before it began, because a caller may have changed what the
// run reads. Runs do not overlap: calls that ask during a run share the next one.
template <typename T>
class SharedRun {
 public:
  // Returns the result of a run of `function` that began after this call asked. The run uses the
  // thread of one of its calls; if that call ends early, another one repeats the run. CANCELLED or
  // DEADLINE_EXCEEDED if `context` ends first. Yields the slot of the call.
  T Get(const CallContext& context, absl::FunctionRef<T()> function) {
    const YieldSlot yielded(context);
    const MutexLock lock(mutex_);
    std::shared_ptr<Run> run;
    while (true) {
      if (run == nullptr || run->given_up) {
        if (next_ == nullptr) next_ = std::make_shared<Run>();
        run = next_;
      }
      if (run->result.has_value()) return *run->result;
      if (!is_running_) break;
      if (absl::Status over = context.Check(); !over.ok()) return over;
      changed_.WaitFor(mutex_, kLook);
    }
    next_ = nullptr;
    is_running_ = true;
    mutex_.Unlock();
    T result = function();
    mutex_.Lock();
    is_running_ = false;
    if (context.Check().ok()) {
      run->result = result;
    } else {
      run->given_up = true;
    }
    changed_.NotifyAll();
    return result;
  }

 private:
  // The interval at which a waiting call checks whether it has ended.
  static constexpr absl::Duration kLook = absl::Milliseconds(20);

  struct Run {
    std::optional<T> result;
    // True if the call that ran the function ended first, so that `result` means nothing.
    bool given_up = false;
  };

  Mutex mutex_;
  Condition changed_;
  bool is_running_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<Run> next_ ABSL_GUARDED_BY(mutex_);
};

// Shares runs among the calls that ask with one key. Thread-safe.
template <typename T>
class SharedRuns {
 public:
  // Calls SharedRun::Get() among the calls with this key.
  T Get(const std::string& key, const CallContext& context, absl::FunctionRef<T()> function) {
    return RunOf(key)->Get(context, function);
  }

 private:
  std::shared_ptr<SharedRun<T>> RunOf(const std::string& key) {
    const MutexLock lock(mutex_);
    std::erase_if(runs_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<SharedRun<T>>& entry = runs_[key];
    std::shared_ptr<SharedRun<T>> run = entry.lock();
    if (run == nullptr) entry = run = std::make_shared<SharedRun<T>>();
    return run;
  }

  Mutex mutex_;
  std::map<std::string, std::weak_ptr<SharedRun<T>>> runs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::host
