#include "server/shim/executor.h"

#include <atomic>
#include <memory>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace csi_proxy::shim {
namespace {

// Counts down when it runs, then waits for the gate when there is one.
struct Job final : Task {
  void Run() override {
    started->DecrementCount();
    if (gate != nullptr) gate->WaitForNotification();
    ran.fetch_add(1);
  }
  absl::BlockingCounter* started = nullptr;
  absl::Notification* gate = nullptr;
  std::atomic<int> ran = 0;
};

TEST(ExecutorTest, RunsEveryTaskOnce) {
  constexpr int kTasks = 1000;
  absl::BlockingCounter started(kTasks);
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
  absl::BlockingCounter running(2);
  absl::BlockingCounter ignored(100);
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
  absl::BlockingCounter late(1);
  jobs[6].started = &late;
  ASSERT_TRUE(executor.Submit(&jobs[6]).ok());
  late.Wait();
}

TEST(ExecutorTest, BlockedTasksDoNotHoldUpOthersWhileThreadsAreLeft) {
  absl::Notification gate;
  absl::BlockingCounter blocked(3);
  std::vector<Job> jobs(4);
  Executor executor({.max_threads = 4, .max_queued = 10});
  for (int i = 0; i < 3; ++i) {
    jobs[i].started = &blocked;
    jobs[i].gate = &gate;
    ASSERT_TRUE(executor.Submit(&jobs[i]).ok());
  }
  blocked.Wait();
  absl::BlockingCounter free(1);
  jobs[3].started = &free;
  ASSERT_TRUE(executor.Submit(&jobs[3]).ok());
  free.Wait();
  gate.Notify();
}

}  // namespace
}  // namespace csi_proxy::shim
