// Calls do their work here: in a bounded pool of threads with a bounded queue, so that the threads
// that move bytes do not all wait for a disk, and a flood of calls is refused instead of piling up.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "csi_proxy/call_context.h"
#include "server/base/condition.h"
#include "server/base/start_thread.h"

namespace csi_proxy::rpc {

class Flow;

// The slot of a running task.
class TaskSlot : public SlotHolder {
 public:
  // Returns true if the task has yielded the slot.
  bool has_waited() const { return has_waited_; }

 protected:
  ~TaskSlot() = default;
  bool has_waited_ = false;
};

// A piece of work. Intrusive, so that queueing allocates nothing.
class Task {
 public:
  // Runs once, with a worker slot, on a thread of the pool. May delete the task.
  virtual void Run(TaskSlot* slot) = 0;

 protected:
  ~Task() = default;

 private:
  friend class Executor;
  friend class TaskList;
  Task* next_ = nullptr;
  std::shared_ptr<Flow> flow_;
  // Stands for a running task that waits for its slot again.
  bool is_reclaim_ = false;
};

// Tasks in order. Guarded by their executor.
class TaskList {
 public:
  bool empty() const { return head_ == nullptr; }
  void Append(Task* task);
  Task* TakeFirst();

 private:
  Task* head_ = nullptr;
  Task** tail_ = &head_;
};

// The tasks of one client at one executor, or of all the flows below it: those of a tenant.
// Outlives the flows below.
class Flow {
 public:
  Flow() = default;
  ~Flow() { BelongTo(nullptr); }
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  // Puts this below `above`, for good and before it has tasks.
  void BelongTo(Flow* above);
  // The number of flows below this one. Thread-safe.
  size_t members() const { return members_.load(std::memory_order_relaxed); }

 private:
  friend class Executor;
  Flow* above_ = nullptr;
  std::atomic<size_t> members_ = 0;
  // The rest is the executor's, and guarded by it. The counts are of all flows below as well.
  size_t queued_ = 0;
  size_t running_ = 0;
  // Those that run and those that have begun and wait without a slot.
  size_t begun_ = 0;
  // The waiters for a slot: queued tasks and reclaims.
  size_t waiters_ = 0;
  // They are in these lists, or else in flows below, in the order of their turns; the first follows
  // the last. Reclaims go first.
  TaskList reclaims_;
  TaskList waiting_;
  Flow* last_ = nullptr;
  Flow* next_ = nullptr;
};

// The status of a call that is refused because `queued` others are waiting.
absl::Status TooManyCalls(size_t queued);
// The same, because so many of its client are.
absl::Status TooManyCallsOfClient(size_t queued);

// Thread-safe. Threads are started when needed; `max_threads` idle ones are kept, and the others
// end after a second.
//
// A task runs with a slot. While it waits (YieldSlot) other tasks have its slot, and it keeps its
// thread. Each tenant has limits of both: of slots, so that it leaves the processors to others, and
// of tasks that have begun, so that it leaves threads and memory to others. A task only begins
// within both, and so can always yield its slot: the tasks with slots work, and a task that wants
// its slot back waits for work alone.
//
// Clients take turns, those of a tenant for the turns of the tenant: a client with many tasks
// waiting delays its own. Running tasks cannot be interrupted, so a client's task may also wait
// while a slot is free for a tenant that has none.
class Executor {
 public:
  struct Limits {
    // The number of slots.
    size_t max_threads;
    // The number of further tasks that may wait.
    size_t max_queued;
    // One tenant may take this percentage of the slots, of the queue and of the begun tasks that
    // others leave; when it has several clients, one of them may take this percentage of that. Half
    // of what a sole tenant leaves is kept for tenants that have nothing.
    size_t client_share = 100;
    // The number of begun tasks beyond the slots. They wait, each on a thread of its own.
    size_t max_blocked = 0;
  };

  explicit Executor(Limits limits, ThreadStarter start_thread = StartThread);
  // Runs what is queued, then joins the threads.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Queues `task`, which must live until it has run, as one of `flow`; null is that of all who are
  // not known. RESOURCE_EXHAUSTED, and the task is not touched, when too many wait or there is no
  // thread; `*client_is_at_limit`, when not null, says whether those are the tenant's own.
  absl::Status Submit(Task* task, std::shared_ptr<Flow> flow = nullptr,
                      bool* client_is_at_limit = nullptr);

  // Runs `task` on this thread, as one of `flow`, if it need not wait for others. False: it may
  // not, and is not touched. A task that blocks blocks the caller.
  bool TryRun(Task* task, std::shared_ptr<Flow> flow = nullptr);

  // The number of tasks that have not begun.
  size_t queued() const;
  size_t threads() const;

 private:
  class Slot;
  class Reclaim;
  using Lock = std::unique_lock<Mutex>;

  // All are called with the lock held.
  Flow& Above(const Flow& flow) { return flow.above_ != nullptr ? *flow.above_ : all_; }
  size_t Room(const Flow& flow, size_t Flow::*taken, size_t most, bool keeps = true);
  bool MayRun(const Flow& flow) { return Room(flow, &Flow::running_, limits_.max_threads) > 0; }
  bool MayBegin(const Flow& flow);
  void Count(Flow& flow, size_t Flow::*taken, size_t more);
  void Enqueue(Flow& flow, Task* task);
  Task* TakeNext(Flow& flow);
  bool HasThread();
  void Begin(Task* task);
  size_t StartWaiting();
  void RunReady(Lock& lock);
  bool MayEndThread();
  std::thread EndThread();
  void Work();

  const Limits limits_;
  const ThreadStarter start_thread_;
  const std::shared_ptr<Flow> unknown_ = std::make_shared<Flow>();
  mutable Mutex mutex_;
  Condition work_arrived_;
  // Above all flows that are below no other.
  Flow all_;
  // Those that have a slot and a thread, or are about to get one.
  TaskList ready_;
  size_t ready_count_ = 0;
  size_t idle_ = 0;  // threads
  bool stopping_ = false;
  absl::Status no_thread_;  // the error of the last one that did not start
  std::vector<std::thread> threads_;
  std::thread ended_;  // the last thread that ended by itself
  // The last time at which no more than `max_threads` threads were idle, while there were more.
  std::chrono::steady_clock::time_point needed_at_;
};

}  // namespace csi_proxy::rpc
