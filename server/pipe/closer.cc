#include "server/pipe/closer.h"

#include <deque>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"

namespace csi_proxy::pipe {
namespace {

// The maximum number of threads that flush pipes. A pipe that gets no thread within the Closer's
// patience is disconnected without a flush.
constexpr size_t kMaxFlushers = 4;

// The maximum number of pipes that wait to be flushed. If one more must wait, the pipe that has
// waited longest is disconnected. This limits the cost of clients that do not read.
constexpr size_t kMaxUnread = 4096;

// How long an idle thread waits for work before it ends.
constexpr absl::Duration kIdle = absl::Seconds(1);

}  // namespace

// The state of a Closer. Shared with the Closer's threads, because Finish() cannot wait for a flush
// that Windows does not end.
class Closer::State : public std::enable_shared_from_this<Closer::State> {
 public:
  State(std::shared_ptr<PipeCalls> calls, absl::Duration patience, ThreadStarter start_thread)
      : calls_(std::move(calls)), patience_(patience), start_thread_(std::move(start_thread)) {}

  PipeCalls& calls() { return *calls_; }

  void Add(const std::shared_ptr<ServerEnd>& end) {
    const MutexLock lock(mutex_);
    connected_.emplace(end.get(), end);
  }
  void Remove(ServerEnd* end) {
    const MutexLock lock(mutex_);
    connected_.erase(end);
    if (connected_.empty()) all_disconnected_.NotifyAll();
  }

  void Leave(std::shared_ptr<ServerEnd> end) {
    const std::shared_ptr<ServerEnd> turned_away = Queue(std::move(end));
    if (turned_away != nullptr) turned_away->Disconnect();
  }

  std::vector<std::shared_ptr<ServerEnd>> AwaitDisconnected() {
    const MutexLock lock(mutex_);
    const SteadyTime give_up = SteadyTime::Now() + patience_;
    while (!connected_.empty() && all_disconnected_.WaitUntil(mutex_, give_up)) {
    }
    std::vector<std::shared_ptr<ServerEnd>> left;
    for (const auto& [end, weak] : connected_) {
      // If lock() returns null, the end's destructor runs, and disconnects the end.
      if (std::shared_ptr<ServerEnd> shared = weak.lock()) left.push_back(std::move(shared));
    }
    return left;
  }

 private:
  struct Leaving {
    std::weak_ptr<ServerEnd> end;
    SteadyTime deadline;
  };

  bool Start(void (State::*run)()) {
    absl::StatusOr<std::thread> thread =
        start_thread_([self = shared_from_this(), run] { (self.get()->*run)(); });
    if (thread.ok()) thread->detach();
    return thread.ok();
  }

  // Queues an end to be flushed. Returns the end that must be disconnected now, if any.
  std::shared_ptr<ServerEnd> Queue(std::shared_ptr<ServerEnd> end) {
    const MutexLock lock(mutex_);
    // An end must not wait without a thread that watches its deadline.
    if (!watching_ && !Start(&State::Watch)) return end;
    watching_ = true;
    leaving_.push_back({.end = end, .deadline = SteadyTime::Now() + patience_});
    unread_.push_back(std::move(end));
    more_unread_.NotifyOne();
    if (idle_flushers_ < unread_.size() && flushers_ < kMaxFlushers && Start(&State::Flush)) {
      ++flushers_;
    }
    if (unread_.size() <= kMaxUnread) return nullptr;
    std::shared_ptr<ServerEnd> longest = std::move(unread_.front());
    unread_.pop_front();
    return longest;
  }

  void Flush() {
    while (std::shared_ptr<ServerEnd> end = NextUnread()) {
      calls_->Flush(end->handle());
      end->Disconnect();
    }
  }

  std::shared_ptr<ServerEnd> NextUnread() {
    const MutexLock lock(mutex_);
    ++idle_flushers_;
    const SteadyTime give_up = SteadyTime::Now() + kIdle;
    while (unread_.empty() && more_unread_.WaitUntil(mutex_, give_up)) {
    }
    --idle_flushers_;
    if (unread_.empty()) {
      --flushers_;
      return nullptr;
    }
    std::shared_ptr<ServerEnd> end = std::move(unread_.front());
    unread_.pop_front();
    return end;
  }

  void Watch() {
    SteadyTime next;
    while (NextDeadline(&next)) {
      absl::SleepFor(next - SteadyTime::Now());
      for (const std::shared_ptr<ServerEnd>& end : Overdue()) end->Disconnect();
    }
  }

  bool NextDeadline(SteadyTime* next) {
    const MutexLock lock(mutex_);
    watching_ = !leaving_.empty();
    if (watching_) *next = leaving_.front().deadline;
    return watching_;
  }

  std::vector<std::shared_ptr<ServerEnd>> Overdue() {
    const MutexLock lock(mutex_);
    std::vector<std::shared_ptr<ServerEnd>> overdue;
    while (!leaving_.empty() && leaving_.front().deadline <= SteadyTime::Now()) {
      if (auto end = leaving_.front().end.lock()) {
        // The end is still in `unread_` if no thread was free to flush it.
        std::erase(unread_, end);
        overdue.push_back(std::move(end));
      }
      leaving_.pop_front();
    }
    return overdue;
  }

  const std::shared_ptr<PipeCalls> calls_;
  const absl::Duration patience_;
  const ThreadStarter start_thread_;
  // Must not be held where an end might be destroyed, because the end's destructor locks `mutex_`.
  Mutex mutex_;
  Condition all_disconnected_, more_unread_;
  std::unordered_map<ServerEnd*, std::weak_ptr<ServerEnd>> connected_ ABSL_GUARDED_BY(mutex_);
  std::deque<Leaving> leaving_ ABSL_GUARDED_BY(mutex_);  // Ordered by deadline.
  std::deque<std::shared_ptr<ServerEnd>> unread_ ABSL_GUARDED_BY(mutex_);
  size_t flushers_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t idle_flushers_ ABSL_GUARDED_BY(mutex_) = 0;
  bool watching_ ABSL_GUARDED_BY(mutex_) = false;
};

Closer::Closer(std::shared_ptr<PipeCalls> calls, absl::Duration patience,
               ThreadStarter start_thread)
    : state_(std::make_shared<State>(std::move(calls), patience, std::move(start_thread))) {}

std::shared_ptr<ServerEnd> Closer::Adopt(void* instance) {
  const std::shared_ptr<ServerEnd> end(new ServerEnd(state_, instance));
  state_->Add(end);
  return end;
}

void Closer::Finish() {
  for (const std::shared_ptr<ServerEnd>& end : state_->AwaitDisconnected()) end->Disconnect();
}

ServerEnd::~ServerEnd() {
  Disconnect();
  state_->calls().Close(handle_);
}

void ServerEnd::Disconnect() {
  if (disconnected_.exchange(true)) return;
  state_->calls().Disconnect(handle_);
  state_->Remove(this);
}

void ServerEnd::DisconnectOnceRead() {
  if (!disconnected_ && !leaving_.exchange(true)) state_->Leave(shared_from_this());
}

}  // namespace csi_proxy::pipe
