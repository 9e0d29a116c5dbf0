#include "server/shim/executor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/shim/share.h"

namespace csi_proxy::shim {

absl::Status TooManyCalls(size_t queued) {
  return absl::ResourceExhaustedError(
      absl::StrCat("too many calls are waiting already (", queued, "); try again later"));
}

absl::Status TooManyCallsOfClient(size_t queued) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "too many calls of this client are waiting already (", queued, "); try again later"));
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

void Executor::Append(TaskList& list, Task* task) {
  task->next_ = nullptr;
  *list.tail_ = task;
  list.tail_ = &task->next_;
}

Task* Executor::TakeFirst(TaskList& list) {
  Task* const first = list.head_;
  list.head_ = first->next_;
  if (list.head_ == nullptr) list.tail_ = &list.head_;
  return first;
}

bool Executor::MayRun(const Flow& flow) const {
  return MayTakeOneMore(flow.running_, running_ - flow.running_, limits_.max_threads,
                        limits_.client_share);
}

// Gives the task a thread.
void Executor::Start(Task* task) {
  ++running_;
  ++task->flow_->running_;
  Append(ready_, task);
  ++ready_count_;
  // An idle thread that has been woken but has not run yet still counts as idle: what is ready
  // beyond the idle threads needs a thread of its own.
  if (ready_count_ > idle_ && threads_.size() < limits_.max_threads && !stopping_) {
    threads_.emplace_back([this] { Work(); });
  }
}

absl::Status Executor::Submit(Task* task, std::shared_ptr<Flow> flow, bool* client_is_at_limit) {
  if (client_is_at_limit != nullptr) *client_is_at_limit = false;
  if (flow == nullptr) flow = unknown_;
  {
    std::lock_guard<Mutex> lock(mutex_);
    // Those that wait may not run, or they would: whoever may goes ahead of them.
    if (MayRun(*flow)) {
      task->flow_ = std::move(flow);
      Start(task);
    } else {
      if (queued_ >= limits_.max_queued) return TooManyCalls(queued_);
      if (!MayTakeOneMore(flow->queued_, queued_ - flow->queued_, limits_.max_queued,
                          limits_.client_share)) {
        if (client_is_at_limit != nullptr) *client_is_at_limit = true;
        return TooManyCallsOfClient(flow->queued_);
      }
      Flow& line = *flow;
      if (line.waiting_.empty()) {
        line.next_ = last_flow_ != nullptr ? last_flow_->next_ : &line;
        if (last_flow_ != nullptr) last_flow_->next_ = &line;
        last_flow_ = &line;
        ++waiting_flows_;
      }
      task->flow_ = std::move(flow);
      Append(line.waiting_, task);
      ++line.queued_;
      ++queued_;
      return absl::OkStatus();
    }
  }
  work_arrived_.notify_one();
  return absl::OkStatus();
}

// Gives threads to those that wait and may run, to one of each flow in turn: the end of a task lets
// each have one more at most. How many it were.
size_t Executor::StartWaiting() {
  size_t started = 0;
  for (size_t looks = waiting_flows_; looks > 0 && running_ < limits_.max_threads; --looks) {
    // Somebody waits, so there is a last one. NOLINTNEXTLINE(clang-analyzer-core.NullDereference)
    Flow* const flow = last_flow_->next_;
    if (MayRun(*flow)) {
      Task* const task = TakeFirst(flow->waiting_);
      ++started;
      --flow->queued_;
      --queued_;
      if (flow->waiting_.empty()) {
        --waiting_flows_;
        last_flow_->next_ = flow->next_;
        if (last_flow_ == flow) last_flow_ = nullptr;
        Start(task);
        continue;
      }
      Start(task);
    }
    last_flow_ = flow;
  }
  return started;
}

size_t Executor::queued() const {
  std::lock_guard<Mutex> lock(mutex_);
  return queued_;
}

// A task of the flow has ended. How many others have a thread now.
size_t Executor::End(Flow& flow) {
  --running_;
  --flow.running_;
  return StartWaiting();
}

bool Executor::TryRun(Task* task, std::shared_ptr<Flow> flow) {
  if (flow == nullptr) flow = unknown_;
  {
    std::lock_guard<Mutex> lock(mutex_);
    if (queued_ > 0 || !MayRun(*flow)) return false;
    ++running_;
    ++flow->running_;
  }
  task->Run();
  size_t started;
  {
    std::lock_guard<Mutex> lock(mutex_);
    started = End(*flow);
  }
  for (; started > 0; --started) work_arrived_.notify_one();
  return true;
}

void Executor::Work() {
  std::unique_lock<Mutex> lock(mutex_);
  while (true) {
    ++idle_;
    work_arrived_.wait(lock, [this] { return !ready_.empty() || stopping_; });
    --idle_;
    if (ready_.empty()) return;
    Task* const task = TakeFirst(ready_);
    --ready_count_;
    // The task may be deleted before Run() returns.
    std::shared_ptr<Flow> flow = std::move(task->flow_);
    lock.unlock();
    task->Run();
    lock.lock();
    ++idle_;
    // This thread takes one of them.
    for (size_t started = End(*flow); started > 1; --started) work_arrived_.notify_one();
    --idle_;
    flow.reset();
  }
}

}  // namespace csi_proxy::shim
