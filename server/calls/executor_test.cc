#include "server/calls/executor.h"

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "server/calls/executor_testing.h"

namespace csi_proxy::rpc {
namespace {

// Counts down when it runs, then waits for the gate unless it is null.
struct Job final : Task {
  void Run(TaskSlot*) override {
    started->CountDown();
    if (gate != nullptr) gate->WaitForNotification();
    ran.fetch_add(1);
  }
  Countdown* started = nullptr;
  absl::Notification* gate = nullptr;
  std::atomic<int> ran = 0;
};

// Records the thread that runs the task.
struct InlineTask final : Task {
  void Run(TaskSlot*) override { thread = std::this_thread::get_id(); }
  std::thread::id thread;
};

TEST(ExecutorTest, ATaskThatNeedNotWaitRunsOnTheCallersThread) {
  Executor executor({.max_threads = 1, .max_queued = 1});
  InlineTask task;
  for (int i = 0; i < 3; ++i) {
    task.thread = {};
    EXPECT_TRUE(executor.TryRun(&task));
    EXPECT_EQ(task.thread, std::this_thread::get_id());
  }
}

TEST(ExecutorTest, ATaskOnTheCallersThreadUsesASlot) {
  absl::Notification gate;
  Countdown running(1), waited(1);
  Job here, waits;
  here.started = &running;
  here.gate = &gate;
  waits.started = &waited;
  InlineTask refused;
  Executor executor({.max_threads = 1, .max_queued = 1});
  std::thread caller([&] { EXPECT_TRUE(executor.TryRun(&here)); });
  running.Wait();
  EXPECT_FALSE(executor.TryRun(&refused));
  ASSERT_TRUE(executor.Submit(&waits).ok());
  EXPECT_EQ(executor.queued(), 1u);
  EXPECT_FALSE(executor.TryRun(&refused)) << "another waits";
  EXPECT_EQ(refused.thread, std::thread::id());
  gate.Notify();
  // The caller's thread runs the second task after the first, because the pool has no thread.
  waited.Wait();
  caller.join();
}

TEST_F(FairExecutorTest, TenantsTakeTurnsEvenIfOneHasManyTasks) {
  Countdown ended(6);
  Executor executor({.max_threads = 1, .max_queued = 10});
  ASSERT_TRUE(Block(executor, three_).ok());
  AwaitRunning(1);
  for (const char* name : {"a1", "a2", "a3", "a4"}) {
    ASSERT_TRUE(Note(executor, one_, name, &ended).ok());
  }
  ASSERT_TRUE(Note(executor, two_, "b1", &ended).ok());
  ASSERT_TRUE(Note(executor, three_, "c1", &ended).ok());
  gate_.Notify();
  ended.Wait();
  EXPECT_EQ(order_, (std::vector<std::string>{"a1", "b1", "c1", "a2", "a3", "a4"}));
}

TEST_F(FairExecutorTest, OneTenantLeavesSlotsToOtherTenants) {
  Executor executor({.max_threads = 4, .max_queued = 10, .client_share = 75});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Block(executor, one_).ok());
  AwaitRunning(3);
  EXPECT_EQ(executor.queued(), 2u);
  ASSERT_TRUE(Block(executor, two_).ok());
  AwaitRunning(4);
  EXPECT_EQ(executor.queued(), 2u);
  gate_.Notify();
}

TEST_F(FairExecutorTest, OneTenantLeavesQueuePlacesToOtherTenants) {
  Executor executor({.max_threads = 1, .max_queued = 4, .client_share = 75});
  bool client_is_at_limit = true;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(Block(executor, one_, &client_is_at_limit).ok()) << i;
    EXPECT_FALSE(client_is_at_limit);
  }
  const absl::Status refused = Block(executor, one_, &client_is_at_limit);
  EXPECT_EQ(refused, TooManyCallsOfClient(3, 3));
  EXPECT_TRUE(client_is_at_limit);
  EXPECT_TRUE(Block(executor, two_).ok());
  // Now the queue is full for every tenant.
  EXPECT_EQ(Block(executor, three_, &client_is_at_limit).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(client_is_at_limit);
  gate_.Notify();
}

TEST_F(FairExecutorTest, AReservedSlotServesOnlyOtherTenants) {
  Executor executor({.max_threads = 2, .max_queued = 10, .client_share = 50});
  Countdown mine(1), theirs(2);
  ASSERT_TRUE(Block(executor, one_).ok());
  AwaitRunning(1);
  // The second slot is reserved for other tenants. two_ runs its tasks there, one by one.
  ASSERT_TRUE(Note(executor, one_, "mine", &mine).ok());
  ASSERT_TRUE(Note(executor, two_, "theirs", &theirs).ok());
  while (executor.queued() > 1) std::this_thread::yield();
  ASSERT_TRUE(Note(executor, two_, "theirs again", &theirs).ok());
  theirs.Wait();
  gate_.Notify();
  mine.Wait();
  EXPECT_EQ(order_.back(), "mine");
}

TEST_F(FairExecutorTest, DestroyingTheExecutorFirstRunsAllQueuedTasks) {
  Countdown ended(20);
  {
    Executor executor({.max_threads = 4, .max_queued = 100, .client_share = 25});
    ASSERT_TRUE(Block(executor, one_).ok());
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(Note(executor, one_, "", &ended).ok());
    AwaitRunning(1);
    gate_.Notify();
  }
  EXPECT_EQ(order_.size(), 20u);
}

// A thread that is idle for less than a second serves the next burst.
TEST_F(FairExecutorTest, ThreadsStayBetweenBurstsOfTasks) {
  constexpr int kThreads = 8, kBursts = 50;
  std::atomic<int> started = 0;
  Executor executor({.max_threads = kThreads, .max_queued = 8}, [&](std::function<void()> work) {
    ++started;
    return StartThread(std::move(work));
  });
  for (int i = 0; i < kBursts; ++i) {
    absl::Notification gate;
    Countdown ended(kThreads);
    std::array<Job, kThreads> jobs;
    for (Job& job : jobs) {
      job.started = &ended;
      job.gate = &gate;
      ASSERT_TRUE(executor.Submit(&job).ok());
    }
    ended.Wait();
    gate.Notify();
    for (const Job& job : jobs) {
      while (job.ran == 0) std::this_thread::yield();
    }
  }
  // Far below one thread for each burst, for a machine that stops for a second now and then.
  EXPECT_LT(started, kThreads + kBursts / 2);
}

TEST_F(FairExecutorTest, RunHereWaitsForItsTurnAndLeavesTheQueueIfItsCallEnds) {
  Executor executor({.max_threads = 1, .max_queued = 3});
  ASSERT_TRUE(Block(executor, three_).ok());
  AwaitRunning(1);
  const auto run = [&](const CallContext& context, const std::shared_ptr<TenantQueue>& queue) {
    const auto note = [&, caller = std::this_thread::get_id()](TaskSlot*) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      const MutexLock lock(mutex_);
      order_.push_back("caller");
      return absl::OkStatus();
    };
    return executor.RunHere(context, note, queue);
  };
  const auto await_queued = [&](size_t count) {
    while (executor.queued() != count) std::this_thread::yield();
  };
  const CallContext soon = CallContext().WithTimeout(absl::Milliseconds(30));
  EXPECT_TRUE(absl::IsDeadlineExceeded(run(soon, two_)));
  EXPECT_EQ(executor.queued(), 0u);
  absl::Notification cancelled;
  std::thread gone([&] {
    EXPECT_TRUE(
        absl::IsCancelled(run(CallContext(SteadyTime::InfiniteFuture(), &cancelled), two_)));
  });
  await_queued(1);
  std::thread patient([&] { EXPECT_TRUE(run(CallContext(), one_).ok()); });
  await_queued(2);
  Countdown ended(2);
  ASSERT_TRUE(Note(executor, one_, "one", &ended).ok());
  EXPECT_EQ(run(CallContext(), two_), TooManyCalls(3, 1));
  cancelled.Notify();
  gone.join();
  EXPECT_EQ(executor.queued(), 2u);
  ASSERT_TRUE(Note(executor, two_, "two", &ended).ok());
  gate_.Notify();
  patient.join();
  ended.Wait();
  EXPECT_EQ(order_, (std::vector<std::string>{"caller", "two", "one"}));
}

}  // namespace
}  // namespace csi_proxy::rpc
