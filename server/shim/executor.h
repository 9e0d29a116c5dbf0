// Where calls do their work: a bounded pool of threads with a bounded queue, so that the threads
// that move bytes do not all wait for a disk, and a flood of calls is refused instead of piling up.
#pragma once

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "server/base/condition.h"

namespace csi_proxy::shim {

class Flow;

// A piece of work. Intrusive, so that queueing allocates nothing.
class Task {
 public:
  // Runs once on a thread of the pool. May delete the task.
  virtual void Run() = 0;

 protected:
  ~Task() = default;

 private:
  friend class Executor;
  friend class Flow;
  Task* next_ = nullptr;
  std::shared_ptr<Flow> flow_;
};

// Tasks in order. Guarded by their executor.
class TaskList {
 public:
  bool empty() const { return head_ == nullptr; }

 private:
  friend class Executor;
  Task* head_ = nullptr;
  Task** tail_ = &head_;
};

// The tasks of one client at one executor.
class Flow {
 public:
  Flow() = default;
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

 private:
  // All is the executor's, and guarded by it.
  friend class Executor;
  TaskList waiting_;
  size_t queued_ = 0;
  size_t running_ = 0;
  Flow* next_ = nullptr;  // that has tasks waiting
};

// The status of a call that is refused because `queued` others are waiting.
absl::Status TooManyCalls(size_t queued);
// The same, because so many of its client are.
absl::Status TooManyCallsOfClient(size_t queued);

// Thread-safe. Threads are started when needed, up to `max_threads`, and kept.
//
// Clients take turns: a client with many tasks waiting delays its own. Running tasks cannot be
// taken back, so a client's task may also wait while a thread is free, for the next who comes.
class Executor {
 public:
  struct Limits {
    // How many tasks run at once.
    size_t max_threads;
    // How many more may wait.
    size_t max_queued;
    // How many percent of the threads, and of the queue, that others leave one client may take.
    size_t client_share = 100;
  };

  explicit Executor(Limits limits);
  // Runs what is queued, then joins the threads.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Queues `task`, which must live until it has run, as one of `flow`; null is that of all who are
  // not known. RESOURCE_EXHAUSTED, and the task is not touched, when too many wait;
  // `*client_is_at_limit`, when not null, says whether those are the flow's own.
  absl::Status Submit(Task* task, std::shared_ptr<Flow> flow = nullptr,
                      bool* client_is_at_limit = nullptr);

  // Runs `task` on this thread, as one of `flow`, if it need not wait for others. False: it may
  // not, and is not touched. A task that blocks blocks the caller.
  bool TryRun(Task* task, std::shared_ptr<Flow> flow = nullptr);

  // How many tasks wait for a thread.
  size_t queued() const;

 private:
  static void Append(TaskList& list, Task* task);
  static Task* TakeFirst(TaskList& list);
  bool MayRun(const Flow& flow) const;
  void Start(Task* task);
  size_t StartWaiting();
  size_t End(Flow& flow);
  void Work();

  const Limits limits_;
  const std::shared_ptr<Flow> unknown_ = std::make_shared<Flow>();
  mutable Mutex mutex_;
  Condition work_arrived_;
  // Whoever has a thread, or is about to get one.
  TaskList ready_;
  size_t ready_count_ = 0;
  size_t running_ = 0;  // the ready ones included
  // The flows with tasks that wait, in the order of their turns; the last is followed by the first.
  Flow* last_flow_ = nullptr;
  size_t waiting_flows_ = 0;
  size_t queued_ = 0;
  size_t idle_ = 0;  // threads
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace csi_proxy::shim
