#include "server/rpc/executor.h"

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "server/rpc/executor_testing.h"

namespace csi_proxy::rpc {
namespace {

// Counts down when it runs, then waits for the gate if there is one.
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

TEST(ExecutorTest, RunsEveryTaskOnce) {
  constexpr int kTasks = 1000;
  Countdown started(kTasks);
  std::vector<Job> jobs(kTasks);
  {
    Executor executor({.max_threads = 4, .max_queued = kTasks});
    for (Job& job : jobs) {
      job.started = &started;
      ASSERT_TRUE(executor.Submit(&job).ok());
    }
  }
  for (const Job& job : jobs) EXPECT_EQ(job.ran, 1);
}

TEST(ExecutorTest, RefusesBeyondThreadsAndQueueThenRecovers) {
  absl::Notification gate;
  Countdown running(2);
  Countdown ignored(100);
  std::vector<Job> jobs(8);
  Executor executor({.max_threads = 2, .max_queued = 3});
  for (int i = 0; i < 2; ++i) {
    jobs[i].started = &running;
    jobs[i].gate = &gate;
    ASSERT_TRUE(executor.Submit(&jobs[i]).ok());
  }
  running.Wait();
  for (int i = 2; i < 5; ++i) {
    jobs[i].started = &ignored;
    ASSERT_TRUE(executor.Submit(&jobs[i]).ok()) << i;
  }
  EXPECT_EQ(executor.queued(), 3u);
  jobs[5].started = &ignored;
  const absl::Status refused = executor.Submit(&jobs[5]);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(jobs[5].ran, 0);

  gate.Notify();
  while (executor.queued() > 0) std::this_thread::yield();
  Countdown late(1);
  jobs[6].started = &late;
  ASSERT_TRUE(executor.Submit(&jobs[6]).ok());
  late.Wait();
}

// Records the thread that ran it.
struct InlineTask final : Task {
  void Run(TaskSlot*) override { thread = std::this_thread::get_id(); }
  std::thread::id thread;
};

TEST(ExecutorTest, WhoNeedNotWaitRunsOnTheCallersThread) {
  Executor executor({.max_threads = 1, .max_queued = 1});
  InlineTask task;
  for (int i = 0; i < 3; ++i) {
    task.thread = {};
    EXPECT_TRUE(executor.TryRun(&task));
    EXPECT_EQ(task.thread, std::this_thread::get_id());
  }
}

TEST(ExecutorTest, WhoRunsOnTheCallersThreadTakesAPlaceLikeOthers) {
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
  // When the first task ends, the second has its thread.
  waited.Wait();
  caller.join();
}

TEST(ExecutorTest, BlockedTasksDoNotHoldUpOthersWhileThreadsAreLeft) {
  absl::Notification gate;
  Countdown blocked(3);
  std::vector<Job> jobs(4);
  Executor executor({.max_threads = 4, .max_queued = 10});
  for (int i = 0; i < 3; ++i) {
    jobs[i].started = &blocked;
    jobs[i].gate = &gate;
    ASSERT_TRUE(executor.Submit(&jobs[i]).ok());
  }
  blocked.Wait();
  Countdown free(1);
  jobs[3].started = &free;
  ASSERT_TRUE(executor.Submit(&jobs[3]).ok());
  free.Wait();
  gate.Notify();
}

TEST_F(FairExecutorTest, ClientsTakeTurnsHoweverManyTasksOneHas) {
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

TEST_F(FairExecutorTest, OneClientLeavesThreadsToTheNext) {
  Executor executor({.max_threads = 4, .max_queued = 10, .client_share = 75});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Block(executor, one_).ok());
  AwaitRunning(3);
  EXPECT_EQ(executor.queued(), 2u);
  ASSERT_TRUE(Block(executor, two_).ok());
  AwaitRunning(4);
  EXPECT_EQ(executor.queued(), 2u);
  gate_.Notify();
}

TEST_F(FairExecutorTest, OneClientLeavesPlacesInTheQueueToTheNext) {
  Executor executor({.max_threads = 1, .max_queued = 4, .client_share = 75});
  bool client_is_at_limit = true;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(Block(executor, one_, &client_is_at_limit).ok()) << i;
    EXPECT_FALSE(client_is_at_limit);
  }
  const absl::Status refused = Block(executor, one_, &client_is_at_limit);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_TRUE(client_is_at_limit);
  EXPECT_TRUE(Block(executor, two_).ok());
  // Now the queue is full for every client.
  EXPECT_EQ(Block(executor, three_, &client_is_at_limit).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(client_is_at_limit);
  gate_.Notify();
}

TEST_F(FairExecutorTest, WhatOneClientGivesBackTheOthersGet) {
  Executor executor({.max_threads = 2, .max_queued = 10, .client_share = 50});
  Countdown mine(1), theirs(2);
  ASSERT_TRUE(Block(executor, one_).ok());
  AwaitRunning(1);
  // The other slot is reserved for other clients, and two_ uses it for one task after another.
  ASSERT_TRUE(Note(executor, one_, "mine", &mine).ok());
  ASSERT_TRUE(Note(executor, two_, "theirs", &theirs).ok());
  while (executor.queued() > 1) std::this_thread::yield();
  ASSERT_TRUE(Note(executor, two_, "theirs again", &theirs).ok());
  theirs.Wait();
  gate_.Notify();
  mine.Wait();
  EXPECT_EQ(order_.back(), "mine");
}

TEST_F(FairExecutorTest, WhatWaitsForItsShareIsRunBeforeTheEnd) {
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

// Counts the running tasks of its queue, and of all queues.
struct Counted final : Task {
  void Run(TaskSlot*) override {
    const int own = ++*own_running, all = ++*all_running;
    for (int seen = *most_own; own > seen && !most_own->compare_exchange_weak(seen, own);) {
    }
    for (int seen = *most_all; all > seen && !most_all->compare_exchange_weak(seen, all);) {
    }
    std::this_thread::yield();
    --*own_running;
    --*all_running;
    ++*ran;
  }
  std::atomic<int>*own_running, *all_running, *most_own, *most_all, *ran;
};

TEST_F(FairExecutorTest, ManyClientsAtOnceStayWithinTheirSharesAndAllIsRun) {
  constexpr int kClients = 4, kTasks = 5000;
  std::atomic<int> all_running = 0, most_all = 0, ran = 0, refused = 0;
  std::array<std::atomic<int>, kClients> running{}, most{};
  std::vector<Counted> tasks(kClients * kTasks);
  {
    Executor executor({.max_threads = 8, .max_queued = 64, .client_share = 75});
    std::vector<std::thread> clients;
    for (int n = 0; n < kClients; ++n) {
      clients.emplace_back([&, n] {
        const auto queue = std::make_shared<TenantQueue>();
        for (int i = 0; i < kTasks; ++i) {
          Counted& task = tasks[static_cast<size_t>(n) * kTasks + static_cast<size_t>(i)];
          task.own_running = &running[n];
          task.all_running = &all_running;
          task.most_own = &most[n];
          task.most_all = &most_all;
          task.ran = &ran;
          if (i % 3 == 0 && executor.TryRun(&task, queue)) continue;
          if (!executor.Submit(&task, queue).ok()) ++refused;
        }
      });
    }
    for (std::thread& client : clients) client.join();
  }
  EXPECT_EQ(ran + refused, kClients * kTasks);
  EXPECT_GT(ran, 0);
  EXPECT_LE(most_all, 8);
  for (const auto& most_of_one : most) EXPECT_LE(most_of_one, 6);
}

}  // namespace
}  // namespace csi_proxy::rpc
