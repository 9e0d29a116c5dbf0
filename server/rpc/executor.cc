#include "server/rpc/executor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/rpc/share.h"

namespace csi_proxy::rpc {

absl::Status TooManyCalls(size_t queued) {
  return absl::ResourceExhaustedError(
      absl::StrCat("too many calls are waiting already (", queued, "); try again later"));
}

absl::Status TooManyCallsOfClient(size_t queued) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "too many calls of this client are waiting already (", queued, "); try again later"));
}

void TaskList::Append(Task* task) {
  task->next_ = nullptr;
  *tail_ = task;
  tail_ = &task->next_;
}

Task* TaskList::TakeFirst() {
  Task* const first = head_;
  head_ = first->next_;
  if (head_ == nullptr) tail_ = &head_;
  return first;
}

void Flow::BelongTo(Flow* above) {
  if (above_ != nullptr) above_->members_.fetch_sub(1, std::memory_order_relaxed);
  above_ = above;
  if (above_ != nullptr) above_->members_.fetch_add(1, std::memory_order_relaxed);
}

// The place at which a task runs, until its end.
class Executor::Place final : public WorkingPlace {
 public:
  Place(Executor* executor, std::shared_ptr<Flow> flow)
      : executor_(executor), flow_(std::move(flow)) {}

  void Leave() override {
    size_t started;
    {
      const std::lock_guard<Mutex> lock(executor_->mutex_);
      const size_t most = executor_->limits_.max_away;
      if (counted_ == &Flow::away_ || executor_->Room(*flow_, &Flow::away_, most) == 0) return;
      executor_->Count(*flow_, &Flow::away_, 1);
      started = End();
      counted_ = &Flow::away_;
    }
    for (; started > 0; --started) executor_->work_arrived_.notify_one();
  }

  // Called with the executor's lock held. Returns how many others have a thread now.
  size_t End() {
    executor_->Count(*flow_, counted_, -1);
    return executor_->StartWaiting();
  }

 private:
  Executor* const executor_;
  const std::shared_ptr<Flow> flow_;
  size_t Flow::*counted_ = &Flow::running_;
};

Executor::Executor(Limits limits, ThreadStarter start_thread)
    : limits_(limits), start_thread_(std::move(start_thread)) {}

Executor::~Executor() {
  {
    std::lock_guard<Mutex> lock(mutex_);
    stopping_ = true;
  }
  work_arrived_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

// Returns how many of `most` there are for `flow` and those below it; none when it may not have one
// more than the `taken` that it has. A client that is its tenant's only one has all of the
// tenant's.
size_t Executor::Room(const Flow& flow, size_t Flow::*taken, size_t most, bool keeps) {
  if (&flow == &all_) return most;
  const Flow& above = Above(flow);
  const size_t room = Room(above, taken, most, keeps);
  const size_t percent = &above != &all_ && above.members() == 1 ? 100 : limits_.client_share;
  const size_t others = above.*taken - flow.*taken;
  const size_t kept = keeps ? KeptOf(room, percent) : 0;
  if (!MayTakeOneMore(flow.*taken, others, room, percent, kept)) return 0;
  return ShareOf(others, room, percent);
}

void Executor::Count(Flow& flow, size_t Flow::*taken, size_t more) {
  for (Flow* at = &flow; at != &all_; at = &Above(*at)) at->*taken += more;
  all_.*taken += more;
}

// Lets the task wait for its turn, and the flows that it is in.
void Executor::Enqueue(Flow& flow, Task* task) {
  for (Flow* at = &flow; at != &all_ && at->queued_ == 0; at = &Above(*at)) {
    Flow*& last = Above(*at).last_;
    at->next_ = last != nullptr ? last->next_ : at;
    if (last != nullptr) last->next_ = at;
    last = at;
  }
  flow.waiting_.Append(task);
  Count(flow, &Flow::queued_, 1);
}

// Takes the first task, by turns, of those below `flow` that may run; null when none may.
Task* Executor::TakeNext(Flow& flow) {
  if (!flow.waiting_.empty()) return flow.waiting_.TakeFirst();
  Flow* const end = flow.last_;
  for (Flow* one = nullptr; one != end;) {
    Flow* const before = flow.last_;
    one = before->next_;
    Task* const task = MayRun(*one) ? TakeNext(*one) : nullptr;
    if (task != nullptr) --one->queued_;
    if (one->queued_ > 0) {
      flow.last_ = one;
    } else {
      before->next_ = one->next_;
      if (before == one) flow.last_ = nullptr;
    }
    if (task != nullptr) return task;
  }
  return nullptr;
}

// Starts a thread for one more task that is ready, if that needs one. Returns whether there is any
// thread.
bool Executor::NeedThread() {
  // An idle thread that has been woken but has not run yet still counts as idle: what is ready
  // beyond the idle threads needs a thread of its own.
  if (ready_count_ >= idle_ && threads_.size() < limits_.max_threads + limits_.max_away &&
      !stopping_) {
    absl::StatusOr<std::thread> thread = start_thread_([this] { Work(); });
    no_thread_ = thread.status();
    if (thread.ok()) threads_.push_back(*std::move(thread));
  }
  return !threads_.empty();
}

absl::Status Executor::Submit(Task* task, std::shared_ptr<Flow> flow, bool* client_is_at_limit) {
  if (client_is_at_limit != nullptr) *client_is_at_limit = false;
  if (flow == nullptr) flow = unknown_;
  {
    std::lock_guard<Mutex> lock(mutex_);
    // Those that wait may not run, or they would: whoever may goes ahead of them.
    if (MayRun(*flow)) {
      if (!NeedThread()) return no_thread_;
      Count(*flow, &Flow::running_, 1);
      task->flow_ = std::move(flow);
      ready_.Append(task);
      ++ready_count_;
    } else {
      const size_t most = limits_.max_queued;
      if (all_.queued_ < most && Room(*flow, &Flow::queued_, most, /*keeps=*/false) == 0) {
        if (client_is_at_limit != nullptr) *client_is_at_limit = true;
        return TooManyCallsOfClient((flow->above_ != nullptr ? *flow->above_ : *flow).queued_);
      }
      if (Room(*flow, &Flow::queued_, most) == 0) return TooManyCalls(all_.queued_);
      Flow& line = *flow;
      task->flow_ = std::move(flow);
      Enqueue(line, task);
      return absl::OkStatus();
    }
  }
  work_arrived_.notify_one();
  return absl::OkStatus();
}

// Gives places to tasks that wait and may run, and returns how many they were.
size_t Executor::StartWaiting() {
  size_t started = 0;
  while (all_.queued_ > 0 && all_.running_ < limits_.max_threads) {
    Task* const task = TakeNext(all_);
    if (task == nullptr) break;
    --all_.queued_;
    NeedThread();  // or else it waits for one of those that are there
    Count(*task->flow_, &Flow::running_, 1);
    ready_.Append(task);
    ++ready_count_;
    ++started;
  }
  return started;
}

size_t Executor::queued() const {
  std::lock_guard<Mutex> lock(mutex_);
  return all_.queued_;
}

bool Executor::TryRun(Task* task, std::shared_ptr<Flow> flow) {
  if (flow == nullptr) flow = unknown_;
  Lock lock(mutex_);
  if (all_.queued_ > 0 || !MayRun(*flow)) return false;
  Count(*flow, &Flow::running_, 1);
  lock.unlock();
  Place place(this, std::move(flow));
  task->Run(&place);
  lock.lock();
  size_t started = place.End();
  // No thread could be started for them.
  while (threads_.empty() && !ready_.empty()) RunReady(lock);
  lock.unlock();
  for (; started > 0; --started) work_arrived_.notify_one();
  return true;
}

// Runs the first of those that are ready, with the lock released meanwhile.
void Executor::RunReady(Lock& lock) {
  Task* const task = ready_.TakeFirst();
  --ready_count_;
  // The task may be deleted before Run() returns.
  Place place(this, std::move(task->flow_));
  lock.unlock();
  task->Run(&place);
  lock.lock();
  ++idle_;
  // This thread takes one of them.
  for (size_t started = place.End(); started > 1; --started) work_arrived_.notify_one();
  --idle_;
}

void Executor::Work() {
  Lock lock(mutex_);
  while (true) {
    ++idle_;
    work_arrived_.wait(lock, [this] { return !ready_.empty() || stopping_; });
    --idle_;
    if (ready_.empty()) return;
    RunReady(lock);
  }
}

}  // namespace csi_proxy::rpc
