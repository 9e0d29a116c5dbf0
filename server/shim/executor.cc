#include "server/shim/executor.h"

#include "absl/strings/str_cat.h"

namespace csi_proxy::shim {

absl::Status TooManyCalls(size_t queued) {
  return absl::ResourceExhaustedError(
      absl::StrCat("too many calls are waiting already (", queued, "); try again later"));
}

Executor::Executor(Limits limits) : limits_(limits) {}

Executor::~Executor() {
  {
    std::lock_guard<Mutex> lock(mutex_);
    stopping_ = true;
  }
  work_arrived_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

absl::Status Executor::Submit(Task* task) {
  {
    std::lock_guard<Mutex> lock(mutex_);
    // An idle thread that has been woken but has not run yet still counts as idle: what is queued
    // beyond the idle threads needs a thread of its own.
    if (queued_ >= idle_ && threads_.size() < limits_.max_threads) {
      threads_.emplace_back([this] { Work(); });
    } else if (queued_ >= limits_.max_queued + idle_) {
      return TooManyCalls(queued_);
    }
    *tail_ = task;
    tail_ = &task->next_;
    ++queued_;
  }
  work_arrived_.notify_one();
  return absl::OkStatus();
}

size_t Executor::queued() const {
  std::lock_guard<Mutex> lock(mutex_);
  return queued_;
}

void Executor::Work() {
  std::unique_lock<Mutex> lock(mutex_);
  while (true) {
    ++idle_;
    work_arrived_.wait(lock, [this] { return head_ != nullptr || stopping_; });
    --idle_;
    if (head_ == nullptr) return;
    Task* const task = head_;
    head_ = task->next_;
    if (head_ == nullptr) tail_ = &head_;
    --queued_;
    lock.unlock();
    task->Run();
    lock.lock();
  }
}

}  // namespace csi_proxy::shim
