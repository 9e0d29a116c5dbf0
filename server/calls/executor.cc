#include "server/calls/executor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/calls/tenant_part.h"

namespace csi_proxy::rpc {
namespace {

// The number of idle threads that stay. A further idle thread ends if, during all of the last
// kSurplusThread, at least one thread was idle.
constexpr size_t kIdleThreads = 1;
constexpr std::chrono::milliseconds kSurplusThread{1000};

// The interval at which waiting callers check for a cancellation, which does not wake them.
constexpr absl::Duration kCancellationPoll = absl::Milliseconds(20);

}  // namespace

absl::Status TooManyCalls(size_t queued, size_t own) {
  return absl::ResourceExhaustedError(
      absl::StrCat(queued, " calls are waiting already, which is the most; ", own,
                   " of them are this client's: try again later"));
}

absl::Status TooManyCallsOfClient(size_t own, size_t most) {
  return absl::ResourceExhaustedError(
      absl::StrCat(own, " calls of this client are waiting already, and it may have ", most,
                   ": call less often, and try again later"));
}

void TaskList::Append(Task* task) {
  task->next_ = nullptr;
  *tail_ = task;
  tail_ = &task->next_;
}

Task* TaskList::TakeFirst() {
  Task* const first = head_;
  Remove(first);
  return first;
}

void TaskList::Remove(Task* task) {
  Task** place = &head_;
  while (*place != task) place = &(*place)->next_;
  *place = task->next_;
  if (tail_ == &task->next_) tail_ = place;
}

// Holds a task's slot from the task's beginning to its end.
class Executor::Slot final : public TaskSlot {
 public:
  Slot(Executor* executor, std::shared_ptr<TenantQueue> queue)
      : executor_(executor), queue_(std::move(queue)) {}

  void Lend() override {
    has_waited_ = true;
    size_t started;
    {
      const MutexLock lock(executor_->mutex_);
      executor_->Count(*queue_, &TenantQueue::running_, -1);
      started = executor_->StartWaiting();
    }
    for (; started > 0; --started) executor_->work_arrived_.NotifyOne();
  }

  void Reclaim() override;

  TenantQueue& queue() const { return *queue_; }

 private:
  Executor* const executor_;
  const std::shared_ptr<TenantQueue> queue_;
};

// Represents a thread that waits for a slot. Run() is never called.
class Executor::Waiter final : public Task {
 public:
  Waiter(std::shared_ptr<TenantQueue> queue, bool has_begun) {
    has_thread_ = true;
    has_begun_ = has_begun;
    queue_ = std::move(queue);
  }
  void Run(TaskSlot*) override {}

  Condition granted;
  bool has_slot = false;
};

void Executor::Slot::Reclaim() {
  const MutexLock lock(executor_->mutex_);
  // This task goes ahead of the waiting tasks, because they are over a limit or lack a thread.
  if (executor_->MayRun(*queue_)) {
    executor_->Count(*queue_, &TenantQueue::running_, 1);
    return;
  }
  Waiter waiter(queue_, /*has_begun=*/true);
  executor_->Enqueue(*queue_, &waiter);
  while (!waiter.has_slot) waiter.granted.Wait(executor_->mutex_);
}

Executor::Executor(Limits limits, ThreadStarter start_thread)
    : limits_(limits), start_thread_(std::move(start_thread)) {}

Executor::~Executor() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  work_arrived_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
  if (ended_.joinable()) ended_.join();
}

// Returns true if `queue` may take one more of `capacity` slots, begun tasks or places, which the
// member `taken` counts. With `reserves`, leaves the last ReservedOf() to queues that have none.
bool Executor::MayTake(const TenantQueue& queue, size_t TenantQueue::*taken, size_t capacity,
                       bool reserves) {
  return MayTakeOneMore(queue.*taken, all_.*taken - queue.*taken, capacity, limits_.client_share,
                        reserves ? ReservedOf(capacity, limits_.client_share) : 0);
}

bool Executor::MayBegin(const TenantQueue& queue) {
  if (!MayRun(queue)) return false;
  // MayRun() has checked the limit of slots, which is the lower one if every begun task has a slot.
  if (all_.begun_ == all_.running_) return true;
  if (queue.begun_ >= limits_.max_threads && queue.blocked_ != nullptr &&
      queue.blocked_->load(std::memory_order_relaxed) >= limits_.max_blocked_of_tenant) {
    return false;
  }
  return MayTake(queue, &TenantQueue::begun_, limits_.max_threads + limits_.max_blocked);
}

void Executor::Count(TenantQueue& queue, size_t TenantQueue::*taken, size_t more) {
  queue.*taken += more;
  all_.*taken += more;
}

void Executor::CountBegun(TenantQueue& queue) {
  Count(queue, &TenantQueue::running_, 1);
  Count(queue, &TenantQueue::begun_, 1);
  if (queue.begun_ > limits_.max_threads && queue.blocked_ != nullptr) ++*queue.blocked_;
}

void Executor::Enqueue(TenantQueue& queue, Task* task) {
  if (!queue.waits()) turns_.Append(&queue);
  (task->has_begun_ ? queue.reclaims_ : queue.waiting_).Append(task);
  if (!task->has_begun_) Count(queue, &TenantQueue::queued_, 1);
}

// Takes the first task of `queue`, a reclaim if there is one. Returns null if it may not run.
Task* Executor::TakeFrom(TenantQueue& queue) {
  if (!MayRun(queue)) return nullptr;
  if (!queue.reclaims_.empty()) return queue.reclaims_.TakeFirst();
  if (!MayBegin(queue)) return nullptr;
  return queue.waiting_.first()->has_thread_ || HasThread() ? queue.waiting_.TakeFirst() : nullptr;
}

// Takes a queue's first task, by turns among the tenants. Returns null if no such task may run.
Task* Executor::TakeNext() {
  const auto take = [this](TenantQueue& queue)
                        ABSL_NO_THREAD_SAFETY_ANALYSIS { return TakeFrom(queue); };
  return turns_.Pass(take, [](TenantQueue*) {});
}

// Returns true if one more ready task can have a thread. Starts a thread if necessary.
bool Executor::HasThread() {
  // An idle thread that has been woken but has not run yet still counts as idle.
  if (ready_count_ < idle_) return true;
  if (threads_.size() >= limits_.max_threads + limits_.max_blocked || stopping_) return false;
  absl::StatusOr<std::thread> thread = start_thread_([this] { Work(); });
  no_thread_ = thread.status();
  if (!thread.ok()) return false;
  threads_.push_back(*std::move(thread));
  return true;
}

// Gives `task` a slot. Returns true if a thread of the pool must run it.
bool Executor::Begin(Task* task) {
  if (task->has_begun_) {
    Count(*task->queue_, &TenantQueue::running_, 1);
  } else {
    CountBegun(*task->queue_);
  }
  if (task->has_thread_) {
    auto* const waiter = static_cast<Waiter*>(task);
    waiter->has_slot = true;
    waiter->granted.NotifyOne();
    return false;
  }
  ready_.Append(task);
  ++ready_count_;
  return true;
}

// Returns RESOURCE_EXHAUSTED if `queue` has no place for a further task. Sets `*client_is_at_limit`
// if the tenant has used up its part of the places, but the executor still has free places.
absl::Status Executor::CheckPlace(const TenantQueue& queue, bool* client_is_at_limit) {
  const size_t capacity = limits_.max_queued;
  if (all_.queued_ < capacity &&
      !MayTake(queue, &TenantQueue::queued_, capacity, /*reserves=*/false)) {
    if (client_is_at_limit != nullptr) *client_is_at_limit = true;
    const size_t others = all_.queued_ - queue.queued_;
    return TooManyCallsOfClient(queue.queued_, PartOf(capacity - others, limits_.client_share));
  }
  if (!MayTake(queue, &TenantQueue::queued_, capacity)) {
    return TooManyCalls(all_.queued_, queue.queued_);
  }
  return absl::OkStatus();
}

absl::Status Executor::Submit(Task* task, std::shared_ptr<TenantQueue> queue,
                              bool* client_is_at_limit) {
  if (client_is_at_limit != nullptr) *client_is_at_limit = false;
  if (queue == nullptr) queue = unknown_;
  size_t started = 1;
  {
    const MutexLock lock(mutex_);
    TenantQueue& own_queue = *queue;
    // A task within its limits goes ahead of waiters, which are over a limit or lack a thread.
    const bool may_begin = MayBegin(own_queue);
    // After a thread failed to start, waiters within their limits may lack only a thread.
    const bool lacked_threads = !no_thread_.ok();
    if (may_begin && HasThread()) {
      task->queue_ = std::move(queue);
      Begin(task);
      if (lacked_threads) started += StartWaiting();
    } else {
      if (may_begin && threads_.empty()) return no_thread_;
      ABSL_RETURN_IF_ERROR(CheckPlace(own_queue, client_is_at_limit));
      task->queue_ = std::move(queue);
      Enqueue(own_queue, task);
      return absl::OkStatus();
    }
  }
  for (; started > 0; --started) work_arrived_.NotifyOne();
  return absl::OkStatus();
}

// Gives slots to waiters within their limits. Returns how many of them pool threads must run.
size_t Executor::StartWaiting() {
  size_t started = 0;
  while (all_.running_ < limits_.max_threads) {
    Task* const task = TakeNext();
    if (task == nullptr) break;
    if (!task->has_begun_) Count(*task->queue_, &TenantQueue::queued_, -1);
    if (Begin(task)) ++started;
  }
  return started;
}

size_t Executor::queued() const {
  const MutexLock lock(mutex_);
  return all_.queued_;
}

size_t Executor::threads() const {
  const MutexLock lock(mutex_);
  return threads_.size();
}

bool Executor::TryRun(Task* task, std::shared_ptr<TenantQueue> queue) {
  if (queue == nullptr) queue = unknown_;
  {
    const MutexLock lock(mutex_);
    if (!MayBegin(*queue)) return false;
    CountBegun(*queue);
  }
  RunWithSlot(std::move(queue), [task](TaskSlot* slot) { task->Run(slot); });
  return true;
}

absl::Status Executor::RunHere(const CallContext& context,
                               absl::FunctionRef<absl::Status(TaskSlot*)> function,
                               std::shared_ptr<TenantQueue> queue) {
  if (queue == nullptr) queue = unknown_;
  {
    const MutexLock lock(mutex_);
    ABSL_RETURN_IF_ERROR(AwaitSlot(context, queue));
  }
  absl::Status status;
  RunWithSlot(std::move(queue), [&](TaskSlot* slot) { status = function(slot); });
  return status;
}

// Takes a slot for a task of `queue`, perhaps after a wait. Releases the lock while it waits.
absl::Status Executor::AwaitSlot(const CallContext& context,
                                 const std::shared_ptr<TenantQueue>& queue) {
  if (MayBegin(*queue)) {
    CountBegun(*queue);
    return absl::OkStatus();
  }
  ABSL_RETURN_IF_ERROR(CheckPlace(*queue, nullptr));
  Waiter waiter(queue, /*has_begun=*/false);
  Enqueue(*queue, &waiter);
  absl::Status status = context.Check();
  while (!waiter.has_slot && status.ok()) {
    waiter.granted.WaitUntil(mutex_, context.WithTimeout(kCancellationPoll).deadline());
    status = context.Check();
  }
  if (waiter.has_slot) return absl::OkStatus();
  queue->waiting_.Remove(&waiter);
  Count(*queue, &TenantQueue::queued_, -1);
  // Makes `turns_` drop the queue if its last waiter has left.
  turns_.Pass([](TenantQueue&) -> Task* { return nullptr; }, [](TenantQueue*) {});
  return status;
}

// Runs a begun task on this thread, and ends it.
void Executor::RunWithSlot(std::shared_ptr<TenantQueue> queue,
                           absl::FunctionRef<void(TaskSlot*)> run) {
  Slot slot(this, std::move(queue));
  run(&slot);
  size_t started;
  {
    const MutexLock lock(mutex_);
    // If the pool has no thread, this thread must do the pool's work.
    const size_t is_alone = threads_.empty() ? 1 : 0;
    idle_ += is_alone;
    started = End(slot.queue());
    idle_ -= is_alone;
    while (threads_.empty() && !ready_.empty()) RunReady();
  }
  for (; started > 0; --started) work_arrived_.NotifyOne();
}

// Frees a slot. Returns StartWaiting()'s result.
size_t Executor::End(TenantQueue& queue) {
  if (queue.begun_ > limits_.max_threads && queue.blocked_ != nullptr) --*queue.blocked_;
  Count(queue, &TenantQueue::running_, -1);
  Count(queue, &TenantQueue::begun_, -1);
  return StartWaiting();
}

// Runs the first ready task. Releases the lock while the task runs.
void Executor::RunReady() {
  Task* const task = ready_.TakeFirst();
  --ready_count_;
  // The task may be deleted before Run() returns.
  Slot slot(this, std::move(task->queue_));
  mutex_.Unlock();
  task->Run(&slot);
  mutex_.Lock();
  if (idle_ == 0) needed_at_ = std::chrono::steady_clock::now();
  ++idle_;
  // This thread takes one of the started tasks.
  for (size_t started = End(slot.queue()); started > 1; --started) work_arrived_.NotifyOne();
  --idle_;
}

// Returns true if this thread is surplus. REQUIRES: no task is ready.
bool Executor::MayEndThread() {
  return idle_ > kIdleThreads && std::chrono::steady_clock::now() - needed_at_ >= kSurplusThread;
}

// Removes this thread from the list. Returns the thread that ended before it. The caller must join
// that thread without the lock.
std::thread Executor::EndThread() {
  --idle_;
  const auto self = std::find_if(threads_.begin(), threads_.end(), [](const std::thread& thread) {
    return thread.get_id() == std::this_thread::get_id();
  });
  std::swap(*self, threads_.back());
  std::thread before = std::exchange(ended_, std::move(threads_.back()));
  threads_.pop_back();
  return before;
}

void Executor::Work() {
  std::thread before = RunTasks();
  if (before.joinable()) before.join();
}

// Runs tasks until this thread is surplus or the executor stops. Returns EndThread()'s result.
std::thread Executor::RunTasks() {
  const MutexLock lock(mutex_);
  while (true) {
    ++idle_;
    while (ready_.empty() && !stopping_) {
      if (MayEndThread()) {
        work_arrived_.NotifyOne();  // another thread, in place of this one
        return EndThread();
      }
      if (idle_ > kIdleThreads) {
        work_arrived_.WaitFor(mutex_, absl::FromChrono(kSurplusThread));
      } else {
        work_arrived_.Wait(mutex_);
      }
    }
    --idle_;
    if (ready_.empty()) return {};
    RunReady();
  }
}

}  // namespace csi_proxy::rpc
