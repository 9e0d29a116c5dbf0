// Shares the result of one run among simultaneous calls.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"
#include "server/base/start_thread.h"

namespace csi_proxy::host {

// Runs a function once for simultaneous calls. Each call gets a copy of the result, an
// absl::Status or StatusOr. Thread-safe.
//
// A run serves only calls that arrived before it began, because a caller may have changed the data
// that the run reads. Calls that arrive during a run share the next run.
//
// A run for one call uses the call's thread and context. A run for several calls has a thread of
// its own and ends at the latest of their deadlines, so the other calls get its result even if one
// caller gives up. A call waits for at most one run of other calls before its own begins. If
// Windows keeps a run beyond the limit `longest`, the run keeps its thread, but the next run begins
// beside it. While eight runs hang, a run for several calls uses the thread of one of these calls,
// but still ends at the latest of their deadlines.
template <typename T>
class SharedRun {
 public:
  // A run may outlive its callers. REQUIRES: the data of the function outlives the SharedRun.
  using Function = std::function<T(const CallContext&)>;

  explicit SharedRun(absl::Duration longest = absl::Minutes(2)) : longest_(longest) {}
  // Calls End() without a limit.
  ~SharedRun() {
    End(absl::InfiniteDuration());
    for (const std::shared_ptr<Run>& run : handed_over_) run->thread.join();
  }
  SharedRun(const SharedRun&) = delete;
  SharedRun& operator=(const SharedRun&) = delete;

  // Cancels the runs under way and waits for their end. Returns false if a run is still under way
  // after `limit`. REQUIRES: no call is in Get(), and none follows.
  bool End(absl::Duration limit) {
    const SteadyTime until = SteadyTime::Now() + limit;
    const MutexLock lock(mutex_);
    for (const std::shared_ptr<Run>& run : handed_over_) Cancel(*run);
    while (HungRuns() > 0) {
      if (SteadyTime::Now() >= until) return false;
      changed_.WaitFor(mutex_, kLook);
    }
    return true;
  }

  // Returns true if no run is under way, so that the destructor need not wait.
  bool idle() const {
    const MutexLock lock(mutex_);
    return running_ == 0 && HungRuns() == 0;
  }
  // Returns the number of calls that wait for the next run to begin.
  int waiting() const {
    const MutexLock lock(mutex_);
    return next_ != nullptr ? next_->waiting : 0;
  }

  // Returns the result of a run of `function` that began after this call arrived. CANCELLED or
  // DEADLINE_EXCEEDED if `context` ends first. Yields the call's slot unless the run begins without
  // a wait. REQUIRES: the functions of all calls do the same work.
  T Get(const CallContext& context, Function function) {
    if (const uint64_t number = BeginAlone(); number != 0) {
      return RunHere(number, context, function);
    }
    const YieldSlot yielded(context);
    const MutexLock lock(mutex_);
    if (next_ == nullptr) next_ = std::make_shared<Run>(std::move(function));
    const std::shared_ptr<Run> run = next_;
    ++run->waiting;
    run->deadline = std::max(run->deadline, context.deadline());
    while (!run->result.has_value()) {
      if (absl::Status over = context.Check(); !over.ok()) {
        if (--run->waiting == 0) Abandon(run);
        return over;
      }
      // Another call has begun the run, or the earlier run is still under way.
      if (next_ != run || IsBusy()) {
        changed_.WaitFor(mutex_, kLook);
        continue;
      }
      next_ = nullptr;
      const uint64_t number = Begin();
      // Runs on this call's thread if no other call waits, or if too many earlier runs hang.
      if (run->waiting == 1 || HungRuns() >= kMostHung) {
        const CallContext own = run->waiting == 1 ? context : ContextOf(*run);
        mutex_.Unlock();
        T result = RunHere(number, own, run->function);
        mutex_.Lock();
        run->result = result;
        changed_.NotifyAll();
        return result;
      }
      HandOver(number, run);
    }
    return *run->result;
  }

 private:
  // The interval at which a waiting call checks its deadline and cancellation.
  static constexpr absl::Duration kLook = absl::Milliseconds(20);
  // The number of hung runs that may keep threads of their own.
  static constexpr int kMostHung = 8;

  struct Run {
    explicit Run(Function f) : function(std::move(f)) {}
    const Function function;
    // The number of calls that wait for the result.
    int waiting = 0;
    // The latest deadline of the calls that have waited for the result.
    SteadyTime deadline = SteadyTime::InfinitePast();
    absl::Notification cancelled;
    std::optional<T> result;
    // The run's own thread, if the run was handed over.
    std::thread thread;
  };

  // Returns true if a run is under way and has not exceeded `longest_`.
  bool IsBusy() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return running_ != 0 && SteadyTime::Now() < began_ + longest_;
  }

  // Begins a run. Returns its number, which is not 0.
  uint64_t Begin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    began_ = SteadyTime::Now();
    return running_ = ++last_;
  }
  // Begins a run and returns its number. Begins no run and returns 0 if IsBusy() or if calls wait.
  uint64_t BeginAlone() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    return IsBusy() || next_ != nullptr ? 0 : Begin();
  }

  void EndRun(uint64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (running_ == number) running_ = 0;
    changed_.NotifyAll();
  }

  T RunHere(uint64_t number, const CallContext& context, const Function& function)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    T result = function(context.WithTimeout(longest_));
    const MutexLock lock(mutex_);
    EndRun(number);
    return result;
  }

  // Drops a run that no call waits for, or cancels the run if it has begun.
  void Abandon(const std::shared_ptr<Run>& run) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (next_ == run) next_ = nullptr;
    Cancel(*run);
  }

  // Cancels a run. May be called again for the same run.
  void Cancel(Run& run) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!run.cancelled.HasBeenNotified()) run.cancelled.Notify();
  }

  // Returns the context of a run that several calls share. The context ends at the latest of the
  // calls' deadlines, but at most `longest_` from now.
  CallContext ContextOf(const Run& run) const {
    return CallContext(std::min(run.deadline, SteadyTime::Now() + longest_), &run.cancelled);
  }

  // Returns the number of runs on threads of their own that have not ended. All of them have
  // exceeded `longest_`, except the run under way.
  int64_t HungRuns() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::ranges::count_if(handed_over_, [](const auto& run) { return !run->result; });
  }

  // Executes a run on a thread of its own.
  void HandOver(uint64_t number, const std::shared_ptr<Run>& run)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    absl::StatusOr<std::thread> started =
        StartThread([this, number, run, context = ContextOf(*run)] {
          T result = run->function(context);
          const MutexLock lock(mutex_);
          run->result = std::move(result);
          EndRun(number);
        });
    if (!started.ok()) {
      run->result = started.status();
      return EndRun(number);
    }
    // join() does not wait for `mutex_`: the thread of an ended run has released it for good.
    std::erase_if(handed_over_, [](const auto& earlier) {
      if (earlier->result.has_value()) earlier->thread.join();
      return earlier->result.has_value();
    });
    run->thread = *std::move(started);
    handed_over_.push_back(run);
  }

  const absl::Duration longest_;
  mutable Mutex mutex_;
  Condition changed_;
  // The number of the run under way, or 0.
  uint64_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  // The time at which the last run began.
  SteadyTime began_ ABSL_GUARDED_BY(mutex_) = SteadyTime::InfinitePast();
  // The number of the last run that began.
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
  // The run that waiting calls will share, or null.
  std::shared_ptr<Run> next_ ABSL_GUARDED_BY(mutex_);
  // The runs with threads that are not joined.
  std::vector<std::shared_ptr<Run>> handed_over_ ABSL_GUARDED_BY(mutex_);
};

// Lets calls with the same key share one run. Thread-safe.
template <typename T>
class SharedRuns {
 public:
  // Calls Get() of the SharedRun for `key`.
  T Get(const std::string& key, const CallContext& context,
        typename SharedRun<T>::Function function) {
    return RunOf(key)->Get(context, std::move(function));
  }

  // Calls End() of each SharedRun, and returns true if all have ended.
  bool End(absl::Duration limit) {
    const SteadyTime until = SteadyTime::Now() + limit;
    const MutexLock lock(mutex_);
    bool have_ended = true;
    for (const auto& [key, run] : runs_) have_ended &= run->End(until - SteadyTime::Now());
    return have_ended;
  }

 private:
  // Returns the SharedRun for `key`. Also destroys each unused SharedRun that is idle(). The
  // destructor of a SharedRun that is not idle() would wait for the end of its run.
  std::shared_ptr<SharedRun<T>> RunOf(const std::string& key) {
    const MutexLock lock(mutex_);
    std::erase_if(runs_, [](const auto& entry) {
      return entry.second.use_count() == 1 && entry.second->idle();
    });
    std::shared_ptr<SharedRun<T>>& run = runs_[key];
    if (run == nullptr) run = std::make_shared<SharedRun<T>>();
    return run;
  }

  Mutex mutex_;
  std::map<std::string, std::shared_ptr<SharedRun<T>>> runs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::host
