// Runs calls in a bounded pool of threads with a bounded queue. So slow disks cannot block all the
// threads that move bytes, and a flood of calls is refused instead of piling up.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "csi_proxy/call_context.h"
#include "server/base/condition.h"
#include "server/base/start_thread.h"
#include "server/base/turns.h"

namespace csi_proxy::rpc {

class TenantQueue;

// The slot of a running task.
class TaskSlot : public SlotHolder {
 public:
  // Returns true if the task has yielded the slot.
  bool has_waited() const { return has_waited_; }

 protected:
  ~TaskSlot() = default;
  bool has_waited_ = false;
};

// A piece of work. Intrusive, so that queueing does not allocate memory.
class Task {
 public:
  // Runs once, with a slot, on a thread of the pool, TryRun() or RunHere(). May delete the task.
  virtual void Run(TaskSlot* slot) = 0;

 protected:
  ~Task() = default;

 private:
  friend class Executor;
  friend class TaskList;
  Task* next_ = nullptr;
  std::shared_ptr<TenantQueue> queue_;
  // True for a Waiter, whose thread waits for a slot to begin a task or to go on with one.
  bool has_thread_ = false;
  bool has_begun_ = false;
};

// A first-in-first-out list of tasks. Guarded by the executor's lock.
class TaskList {
 public:
  bool empty() const { return head_ == nullptr; }
  const Task* first() const { return head_; }
  void Append(Task* task);
  Task* TakeFirst();
  // REQUIRES: the list contains `task`.
  void Remove(Task* task);

 private:
  Task* head_ = nullptr;
  Task** tail_ = &head_;
};

// The tasks of one tenant at one executor.
class TenantQueue {
 public:
  TenantQueue() = default;
  TenantQueue(const TenantQueue&) = delete;
  TenantQueue& operator=(const TenantQueue&) = delete;

  // Counts in `*blocked` the begun tasks of this queue beyond its executor's number of slots. A
  // tenant's queues at all executors share the count. REQUIRES: no task has been added.
  void CountBlocked(std::atomic<size_t>* blocked) { blocked_ = blocked; }

 private:
  friend class Executor;
  friend class Turns<TenantQueue>;
  bool waits() const { return !reclaims_.empty() || !waiting_.empty(); }

  std::atomic<size_t>* blocked_ = nullptr;
  // The executor owns the fields below; its lock guards them.
  size_t queued_ = 0;
  size_t running_ = 0;
  // The running and the blocked tasks.
  size_t begun_ = 0;
  // The waiters for a slot; reclaims go first.
  TaskList reclaims_;
  TaskList waiting_;
  TenantQueue* next_turn = nullptr;
};

// Returns the status of a call that is refused because `queued` calls wait. `own` of these belong
// to the refused call's tenant.
absl::Status TooManyCalls(size_t queued, size_t own);
// Returns the status of a call that is refused because `own` calls of its tenant wait, and the
// tenant may have `most`.
absl::Status TooManyCallsOfClient(size_t own, size_t most);

// Starts threads when needed, and ends all idle threads but one after a second. Thread-safe.
//
// A task is  it has             it counts as
// waiting    not begun          queued
// running    a slot, a thread   running, begun
// blocked    a thread           begun: it has yielded its slot (YieldSlot) to another task
//
// A limit of slots for each tenant leaves processors to other tenants; a limit of begun tasks
// leaves them threads and memory. A task begins only within both limits, so a begun task may yield
// its slot at any time. To get a slot back, a blocked task waits only for running tasks.
//
// Scheduling is round robin between tenants, so a long queue delays only its own tenant. Running
// tasks are never interrupted, so the last free slots are reserved for tenants that have no slot.
class Executor {
 public:
  struct Limits {
    // The number of slots.
    size_t max_threads;
    // The maximum of waiting tasks.
    size_t max_queued;
    // The percentage of MayTakeOneMore() (tenant_part.h) for slots, queue places and begun tasks.
    size_t client_share = 100;
    // The maximum of begun tasks beyond the slots. Each waits on a thread of its own.
    size_t max_blocked = 0;
    // The maximum of one tenant's begun tasks beyond the slots, over all executors (TenantQueue).
    // Executors do not wake each other, so a task over this limit waits until a task at its own
    // executor ends or yields its slot.
    size_t max_blocked_of_tenant = std::numeric_limits<size_t>::max();
  };

  explicit Executor(Limits limits, ThreadStarter start_thread = StartThread);
  // Runs the queued tasks, then joins the threads. REQUIRES: no RunHere() or TryRun() is under way.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Runs `task` now, or after a wait in `queue` (null: unknown tenants). See Task::Run().
  // Returns RESOURCE_EXHAUSTED, without touching `task`, if too many tasks wait, or if the pool has
  // no thread and cannot start one. Sets `*client_is_at_limit`, if not null, to true if the limit
  // of the tenant is the reason, else to false. REQUIRES: `task` lives until it has run.
  absl::Status Submit(Task* task, std::shared_ptr<TenantQueue> queue = nullptr,
                      bool* client_is_at_limit = nullptr);

  // Waits in `queue` for a slot, calls `function` on this thread and returns its status. Before it
  // returns, runs further tasks if the pool has no thread. Returns RESOURCE_EXHAUSTED if too many
  // tasks wait, and CANCELLED or DEADLINE_EXCEEDED if `context` ends during the wait.
  absl::Status RunHere(const CallContext& context,
                       absl::FunctionRef<absl::Status(TaskSlot*)> function,
                       std::shared_ptr<TenantQueue> queue = nullptr);

  // Runs `task` for `queue` on this thread, then tasks as RunHere() does, and returns true. Returns
  // false, without touching `task`, if it would have to wait. A blocked task blocks the caller.
  bool TryRun(Task* task, std::shared_ptr<TenantQueue> queue = nullptr);

  // Returns the number of tasks that have not begun.
  size_t queued() const;
  size_t threads() const;

 private:
  class Slot;
  class Waiter;

  bool MayTake(const TenantQueue& queue, size_t TenantQueue::*taken, size_t capacity,
               bool reserves = true) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayRun(const TenantQueue& queue) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return MayTake(queue, &TenantQueue::running_, limits_.max_threads);
  }
  bool MayBegin(const TenantQueue& queue) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Count(TenantQueue& queue, size_t TenantQueue::*taken, size_t more)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountBegun(TenantQueue& queue) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Enqueue(TenantQueue& queue, Task* task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Task* TakeFrom(TenantQueue& queue) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Task* TakeNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Begin(Task* task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckPlace(const TenantQueue& queue, bool* client_is_at_limit)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status AwaitSlot(const CallContext& context, const std::shared_ptr<TenantQueue>& queue)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RunWithSlot(std::shared_ptr<TenantQueue> queue, absl::FunctionRef<void(TaskSlot*)> run);
  size_t StartWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  size_t End(TenantQueue& queue) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RunReady() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns true if an idle thread is surplus.
  bool MayEndThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::thread EndThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::thread RunTasks();
  void Work();

  const Limits limits_;
  const ThreadStarter start_thread_;
  const std::shared_ptr<TenantQueue> unknown_ = std::make_shared<TenantQueue>();
  mutable Mutex mutex_;
  Condition work_arrived_;
  // The sums of all queues' counts.
  TenantQueue all_ ABSL_GUARDED_BY(mutex_);
  // The queues with waiters.
  Turns<TenantQueue> turns_ ABSL_GUARDED_BY(mutex_);
  // Tasks that have a slot and a thread, or are about to get a thread.
  TaskList ready_ ABSL_GUARDED_BY(mutex_);
  size_t ready_count_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;  // threads
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // The status of the last start of a thread.
  absl::Status no_thread_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
  std::thread ended_ ABSL_GUARDED_BY(mutex_);  // the last thread that ended by itself
  // The last time without an idle thread.
  std::chrono::steady_clock::time_point needed_at_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::rpc
