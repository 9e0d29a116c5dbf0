// Where calls do their work: a bounded pool of threads with a bounded queue, so that the threads
// that move bytes never wait for a disk, and a flood of calls is refused instead of piling up.
#pragma once

#include <cstddef>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "server/base/condition.h"

namespace csi_proxy::shim {

// A piece of work. Intrusive, so that queueing allocates nothing.
class Task {
 public:
  // Runs once on a thread of the pool. May delete the task.
  virtual void Run() = 0;

 protected:
  ~Task() = default;

 private:
  friend class Executor;
  Task* next_ = nullptr;
};

// The status of a call that is refused because `queued` others are waiting.
absl::Status TooManyCalls(size_t queued);

// Thread-safe. Threads are started when needed, up to `max_threads`, and kept.
class Executor {
 public:
  struct Limits {
    // How many tasks run at once.
    size_t max_threads;
    // How many more may wait.
    size_t max_queued;
  };

  explicit Executor(Limits limits);
  // Runs what is queued, then joins the threads.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Queues `task`, which must live until it has run. RESOURCE_EXHAUSTED, and the task is not
  // touched, when the queue is full.
  absl::Status Submit(Task* task);

  // How many tasks wait for a thread.
  size_t queued() const;

 private:
  void Work();

  const Limits limits_;
  mutable Mutex mutex_;
  Condition work_arrived_;
  Task* head_ = nullptr;
  Task** tail_ = &head_;
  size_t queued_ = 0;
  size_t idle_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace csi_proxy::shim
