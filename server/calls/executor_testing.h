// Helpers for tests of executors.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "server/base/condition.h"
#include "server/calls/executor.h"

namespace csi_proxy::rpc {

// Replaces absl::BlockingCounter, because ThreadSanitizer cannot see into an Abseil that was built
// without ThreadSanitizer. std::latch is not used, because libstdc++'s misses wake-ups on Windows.
class Countdown {
 public:
  explicit Countdown(int left) : left_(left) {}
  void CountDown() {
    const MutexLock lock(mutex_);
    --left_;
    zero_.NotifyAll();
  }
  void Wait() {
    const MutexLock lock(mutex_);
    while (left_ > 0) zero_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  Condition zero_;
  int left_;
};

// Adds its name to `order`, then counts `ended` down.
struct Step final : Task {
  void Run(TaskSlot*) override {
    {
      const MutexLock lock(*mutex);
      order->push_back(name);
    }
    ended->CountDown();
  }
  std::string name;
  Mutex* mutex = nullptr;
  std::vector<std::string>* order = nullptr;
  Countdown* ended = nullptr;
};

// Increments `*running`, then waits until the gate opens.
struct Blocker final : Task {
  void Run(TaskSlot*) override {
    running->fetch_add(1);
    gate->WaitForNotification();
  }
  std::atomic<int>* running = nullptr;
  absl::Notification* gate = nullptr;
};

class FairExecutorTest : public testing::Test {
 protected:
  // Submits a task of `queue` that runs until the gate opens.
  absl::Status Block(Executor& executor, const std::shared_ptr<TenantQueue>& queue,
                     bool* client_is_at_limit = nullptr) {
    return BlockUntil(&gate_, executor, queue, client_is_at_limit);
  }
  absl::Status BlockUntil(absl::Notification* gate, Executor& executor,
                          const std::shared_ptr<TenantQueue>& queue,
                          bool* client_is_at_limit = nullptr) {
    Blocker& blocker = blockers_.emplace_back();
    blocker.running = &running_;
    blocker.gate = gate;
    return executor.Submit(&blocker, queue, client_is_at_limit);
  }
  absl::Status Note(Executor& executor, const std::shared_ptr<TenantQueue>& queue, std::string name,
                    Countdown* ended) {
    Step& step = steps_.emplace_back();
    step.name = std::move(name);
    step.mutex = &mutex_;
    step.order = &order_;
    step.ended = ended;
    return executor.Submit(&step, queue);
  }
  void AwaitRunning(int count) {
    while (running_ < count) std::this_thread::yield();
  }

  const std::shared_ptr<TenantQueue> one_ = std::make_shared<TenantQueue>(),
                                     two_ = std::make_shared<TenantQueue>(),
                                     three_ = std::make_shared<TenantQueue>();
  std::atomic<int> running_ = 0;
  absl::Notification gate_;
  Mutex mutex_;
  std::vector<std::string> order_;
  std::deque<Blocker> blockers_;
  std::deque<Step> steps_;
};

// A service's default limits for one group, without the limit over all groups.
inline constexpr Executor::Limits kDefault = {
    .max_threads = 16, .max_queued = 384, .client_share = 75, .max_blocked = 128};

}  // namespace csi_proxy::rpc
