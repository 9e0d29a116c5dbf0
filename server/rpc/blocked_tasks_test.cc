// Tests tasks that yield their slots, threads that do not start, and the limits of tenants.
#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "server/calls/executor.h"
#include "server/calls/executor_testing.h"
#include "server/locks/resource_locks.h"
#include "server/rpc/client.h"

namespace csi_proxy::rpc {
namespace {

// Runs a function.
struct Moving final : Task {
  void Run(TaskSlot* slot) override { run(CallContext().With(slot)); }
  std::function<void(const CallContext&)> run;
};

class BlockedTest : public FairExecutorTest {
 protected:
  absl::Status Submit(Executor& executor, const std::shared_ptr<TenantQueue>& queue,
                      std::function<void(const CallContext&)> run) {
    Moving& task = tasks_.emplace_back();
    task.run = std::move(run);
    return executor.Submit(&task, queue);
  }
  // Submits a task that yields its slot until the gate opens.
  absl::Status Wait(Executor& executor, const std::shared_ptr<TenantQueue>& queue) {
    return Submit(executor, queue, [this](const CallContext& context) {
      const YieldSlot yielded(context);
      ++blocked_;
      gate_.WaitForNotification();
    });
  }
  void AwaitBlocked(int count) {
    while (blocked_ < count) std::this_thread::yield();
  }

  std::atomic<int> blocked_ = 0;
  std::deque<Moving> tasks_;
};

TEST_F(BlockedTest, TasksThatWaitForALockYieldTheirSlotAndGetItBack) {
  ResourceLocks locks;
  std::optional<ResourceLocks::Lock> held = *locks.Acquire(CallContext(), "disk/1");
  Countdown waited(3), ended(1);
  Executor executor({.max_threads = 1, .max_queued = 8, .max_blocked = 3});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(Submit(executor, one_, [&](const CallContext& context) {
                  EXPECT_TRUE(locks.Acquire(context, "disk/1").ok());
                  EXPECT_TRUE(locks.Acquire(context, "disk/2").ok());
                  waited.CountDown();
                }).ok());
  }
  ASSERT_TRUE(Note(executor, two_, "other", &ended).ok());
  ended.Wait();
  ASSERT_TRUE(Block(executor, two_).ok());
  AwaitRunning(1);
  held.reset();
  gate_.Notify();
  waited.Wait();
}

TEST_F(BlockedTest, ATaskThatNeedNotWaitForALockKeepsItsSlot) {
  ResourceLocks locks;
  Countdown locked(1);
  Executor executor({.max_threads = 1, .max_queued = 8, .max_blocked = 3});
  ASSERT_TRUE(Submit(executor, one_, [&](const CallContext& context) {
                EXPECT_TRUE(locks.Acquire(context, "disk/1").ok());
                locked.CountDown();
                gate_.WaitForNotification();
              }).ok());
  locked.Wait();
  Countdown ended(1);
  ASSERT_TRUE(Note(executor, two_, "other", &ended).ok());
  EXPECT_EQ(executor.queued(), 1u);
  gate_.Notify();
  ended.Wait();
}

TEST_F(BlockedTest, TheNumberOfBegunTasksIsLimited) {
  Executor executor({.max_threads = 2, .max_queued = 8, .max_blocked = 3});
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(Wait(executor, one_).ok());
  AwaitBlocked(5);
  Countdown ended(1);
  ASSERT_TRUE(Note(executor, two_, "waits", &ended).ok());
  EXPECT_EQ(executor.queued(), 2u);
  gate_.Notify();
  ended.Wait();
  AwaitBlocked(6);
}

// A task yields the only slot, and wants it back while another task of its tenant is queued.
TEST_F(BlockedTest, ATaskGetsItsSlotBackBeforeItsTenantsQueuedTasksStart) {
  Executor executor({.max_threads = 1, .max_queued = 8, .max_blocked = 1});
  Countdown waits(1), ended(2);
  absl::Notification event;
  ASSERT_TRUE(Submit(executor, one_, [&](const CallContext& context) {
                {
                  const YieldSlot yielded(context);
                  waits.CountDown();
                  event.WaitForNotification();
                }
                const MutexLock lock(mutex_);
                order_.push_back("again");
                ended.CountDown();
              }).ok());
  waits.Wait();
  ASSERT_TRUE(Block(executor, one_).ok());
  AwaitRunning(1);
  ASSERT_TRUE(Note(executor, one_, "new", &ended).ok());
  event.Notify();
  // The pending reclaim cannot be observed: no counter contains it.
  absl::SleepFor(absl::Milliseconds(20));
  EXPECT_EQ(executor.queued(), 1u);
  gate_.Notify();
  ended.Wait();
  EXPECT_EQ(order_, (std::vector<std::string>{"again", "new"}));
}

// A driver stages a hundred volumes simultaneously.
TEST_F(BlockedTest, AHundredWaitingCallsOfATenantLeaveSlotsToOtherTenants) {
  {
    Executor executor(kDefault);
    for (int i = 0; i < 108; ++i) ASSERT_TRUE(Wait(executor, one_).ok());
    AwaitBlocked(108);
    // The tenant has used its part of begun tasks, so one more task waits.
    Countdown ended(1);
    ASSERT_TRUE(Note(executor, one_, "", &ended).ok());
    EXPECT_EQ(executor.queued(), 1u);
    for (int i = 0; i < 12; ++i) ASSERT_TRUE(Block(executor, two_).ok());
    AwaitRunning(12);
    EXPECT_EQ(executor.threads(), 120u);
    gate_.Notify();
    ended.Wait();
    const absl::Time end = absl::Now() + absl::Minutes(1);
    while (executor.threads() > 1 && absl::Now() < end) absl::SleepFor(absl::Milliseconds(10));
    EXPECT_EQ(executor.threads(), 1u) << "the others end";
  }
}

// Two executors have one slot each. In both together, a tenant may begin two more calls than slots.
TEST_F(BlockedTest, WaitingCallsOfATenantAreLimitedOverAllExecutors) {
  const Executor::Limits limits{
      .max_threads = 1, .max_queued = 8, .max_blocked = 8, .max_blocked_of_tenant = 2};
  const auto tenant = std::make_shared<Tenant>();
  const std::shared_ptr<TenantQueue> here(tenant, &tenant->queues[0]),
      there(tenant, &tenant->queues[1]);
  Executor one(limits), other(limits);
  for (int begun : {1, 2, 3, 3}) {
    ASSERT_TRUE(Wait(one, here).ok());
    AwaitBlocked(begun);
  }
  EXPECT_EQ(one.queued(), 1u);
  // The first call of each executor does not count, because the executor has one slot.
  ASSERT_TRUE(Wait(other, there).ok());
  AwaitBlocked(4);
  ASSERT_TRUE(Wait(other, there).ok());
  EXPECT_EQ(other.queued(), 1u);
  // Another tenant's calls begin.
  ASSERT_TRUE(Wait(other, std::make_shared<TenantQueue>()).ok());
  AwaitBlocked(5);
  gate_.Notify();
  AwaitBlocked(7);
  while (tenant->blocked_calls > 0) std::this_thread::yield();
}

TEST_F(BlockedTest, TasksOfManyConcurrentTenantsRunWithinTheLimits) {
  constexpr int kTenants = 4, kTasks = 3000;
  std::atomic<int> ran = 0, refused = 0, running = 0, most = 0, begun = 0, most_begun = 0;
  std::atomic<int> most_own = 0;
  std::array<std::atomic<int>, kTenants> own{};
  std::deque<Moving> tasks(kTenants * kTasks);
  const auto raise = [](std::atomic<int>& most_seen, int now) {
    for (int seen = most_seen; now > seen && !most_seen.compare_exchange_weak(seen, now);) {
    }
  };
  {
    Executor executor({.max_threads = 6, .max_queued = 64, .client_share = 75, .max_blocked = 4});
    std::vector<std::thread> clients;
    for (int n = 0; n < kTenants; ++n) {
      clients.emplace_back([&, n] {
        const auto queue = std::make_shared<TenantQueue>();
        std::atomic<int>& running_own = own[static_cast<size_t>(n)];
        for (int i = 0; i < kTasks; ++i) {
          Moving& task = tasks[static_cast<size_t>(n) * kTasks + static_cast<size_t>(i)];
          task.run = [&, i](const CallContext& context) {
            raise(most_begun, ++begun);
            raise(most, ++running);
            raise(most_own, ++running_own);
            for (int wait = i % 4; wait > 1; --wait) {
              --running;
              --running_own;
              {
                const YieldSlot yielded(context), nested(context);
                std::this_thread::yield();
              }
              raise(most, ++running);
              raise(most_own, ++running_own);
            }
            std::this_thread::yield();
            --running;
            --running_own;
            --begun;
            ++ran;
          };
          if (i % 5 == 0 && executor.TryRun(&task, queue)) continue;
          if (i % 7 == 0) {
            const CallContext soon = CallContext().WithTimeout(absl::Microseconds(i % 200));
            const auto run = [&](TaskSlot* slot) {
              task.Run(slot);
              return absl::OkStatus();
            };
            if (!executor.RunHere(soon, run, queue).ok()) ++refused;
            continue;
          }
          if (!executor.Submit(&task, queue).ok()) ++refused;
        }
      });
    }
    for (std::thread& client : clients) client.join();
    const std::function<absl::Status(int)> hold = [&](int slots) {
      const CallContext later = CallContext().WithTimeout(absl::Minutes(1));
      return executor.RunHere(
          later, [&](TaskSlot*) { return slots > 1 ? hold(slots - 1) : absl::OkStatus(); });
    };
    EXPECT_TRUE(hold(4).ok()) << "a slot is lost";
  }
  EXPECT_EQ(ran + refused, kTenants * kTasks);
  EXPECT_GT(ran, 0);
  EXPECT_LE(most, 6);
  EXPECT_LE(most_own, 4) << "75 %";
  EXPECT_LE(most_begun, 6 + 4);
}

// A system that starts only `left` more threads.
class FewThreadsTest : public BlockedTest {
 protected:
  ThreadStarter Few(int left) {
    left_ = left;
    return [this](std::function<void()> work) -> absl::StatusOr<std::thread> {
      if (left_-- <= 0) return absl::ResourceExhaustedError("no more threads");
      return StartThread(std::move(work));
    };
  }
  std::atomic<int> left_ = 0;
};

TEST_F(FewThreadsTest, CallsAreRefusedUntilAThreadCanBeStarted) {
  Countdown ended(1);
  Executor executor(kDefault, Few(0));
  EXPECT_EQ(Note(executor, one_, "refused", &ended),
            absl::ResourceExhaustedError("no more threads"));
  left_ = 1;
  EXPECT_TRUE(Note(executor, one_, "runs", &ended).ok());
  ended.Wait();
  EXPECT_EQ(order_, std::vector<std::string>{"runs"});
}

TEST_F(FewThreadsTest, QueuedTasksRunWhenTheOnlyThreadIsFree) {
  Countdown ended(5);
  Executor executor(kDefault, Few(1));
  ASSERT_TRUE(Block(executor, one_).ok());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Note(executor, two_, "", &ended).ok());
  gate_.Notify();
  ended.Wait();
}

TEST_F(FewThreadsTest, AWaitingTaskRunsOnceTheSystemStartsThreadsAgain) {
  Countdown ended(1);
  Executor executor(kDefault, Few(1));
  ASSERT_TRUE(Block(executor, one_).ok());
  ASSERT_TRUE(Note(executor, two_, "", &ended).ok());
  left_ = 2;
  ASSERT_TRUE(Block(executor, three_).ok());
  ended.Wait();
  gate_.Notify();
}

TEST_F(FewThreadsTest, QueuedTasksRunOnTheCallersThreadIfThereIsNoOther) {
  Executor executor({.max_threads = 1, .max_queued = 4}, Few(0));
  Countdown ended(2);
  Moving here;
  here.run = [&](const CallContext&) {
    EXPECT_TRUE(Note(executor, one_, "a", &ended).ok());
    EXPECT_TRUE(Note(executor, two_, "b", &ended).ok());
  };
  EXPECT_TRUE(executor.TryRun(&here));
  EXPECT_EQ(order_, (std::vector<std::string>{"a", "b"}));
}

}  // namespace
namespace {

TEST_F(FairExecutorTest, TheLastSlotsAreReservedForTenantsWithoutASlot) {
  absl::Notification third_ends;
  Executor executor(kDefault);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Block(executor, one_).ok());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Block(executor, two_).ok());
  AwaitRunning(14);
  ASSERT_TRUE(BlockUntil(&third_ends, executor, std::make_shared<TenantQueue>()).ok());
  ASSERT_TRUE(Block(executor, std::make_shared<TenantQueue>()).ok());
  AwaitRunning(16);
  EXPECT_EQ(executor.queued(), 26u);
  // Now no slot is left. The next free slot must go to the newcomer, because it has no slot yet.
  Countdown ended(1);
  ASSERT_TRUE(Note(executor, std::make_shared<TenantQueue>(), "newcomer", &ended).ok());
  third_ends.Notify();
  ended.Wait();
  EXPECT_EQ(running_, 16);
  EXPECT_EQ(executor.queued(), 26u);
  gate_.Notify();
}

TEST_F(FairExecutorTest, TheLastQueuePlacesAreReservedForTenantsWithoutOne) {
  Executor executor({.max_threads = 1, .max_queued = 16, .client_share = 75});
  ASSERT_TRUE(Block(executor, std::make_shared<TenantQueue>()).ok());
  bool client_is_at_limit = false;
  while (Block(executor, one_, &client_is_at_limit).ok()) {
  }
  EXPECT_TRUE(client_is_at_limit);
  EXPECT_EQ(executor.queued(), 12u);
  while (Block(executor, two_, &client_is_at_limit).ok()) {
  }
  EXPECT_FALSE(client_is_at_limit) << "it is others who have too many";
  EXPECT_EQ(executor.queued(), 14u);
  EXPECT_TRUE(Block(executor, std::make_shared<TenantQueue>()).ok());
  EXPECT_TRUE(Block(executor, std::make_shared<TenantQueue>()).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Block(executor, std::make_shared<TenantQueue>())));
  gate_.Notify();
}

}  // namespace

}  // namespace csi_proxy::rpc
