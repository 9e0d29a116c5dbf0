#include "server/host/shared_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"

namespace csi_proxy::host {
namespace {

using Answer = absl::StatusOr<int>;

class SharedRunTest : public testing::Test {
 protected:
  // Starts a run, which ends when the gate opens or its call ends.
  std::thread BeginFirst(const CallContext& context) {
    std::thread first([this, context] {
      first_ = shared_.Get(context, [&]() -> Answer {
        const int number = ++runs_;
        while (!gate_.HasBeenNotified()) {
          if (absl::Status s = context.SleepFor(absl::Milliseconds(1)); !s.ok()) return s;
        }
        return number;
      });
    });
    while (runs_ == 0) std::this_thread::yield();
    return first;
  }
  Answer Ask(const CallContext& context = CallContext()) {
    ++asking_;
    return shared_.Get(context, [this]() -> Answer { return ++runs_; });
  }
  // Calls Ask() on `count` threads, all of which wait.
  void AskFromOthers(int count) {
    answers_.assign(count, absl::UnknownError("none"));
    for (Answer& answer : answers_) {
      others_.emplace_back([&] { answer = Ask(); });
    }
    while (asking_ < count) std::this_thread::yield();
    absl::SleepFor(absl::Milliseconds(20));
  }
  void JoinOthers() {
    for (std::thread& other : others_) other.join();
  }

  SharedRun<Answer> shared_;
  std::atomic<int> runs_ = 0, asking_ = 0;
  absl::Notification gate_;
  Answer first_ = absl::UnknownError("none");
  std::vector<Answer> answers_;
  std::vector<std::thread> others_;
};

TEST_F(SharedRunTest, CallsThatAskDuringARunShareTheNext) {
  std::thread first = BeginFirst(CallContext());
  AskFromOthers(8);
  EXPECT_EQ(runs_, 1);
  const CallContext soon = CallContext().WithTimeout(absl::Milliseconds(30));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Ask(soon).status()));
  gate_.Notify();
  first.join();
  JoinOthers();
  EXPECT_EQ(first_, Answer(1));
  for (const Answer& answer : answers_) EXPECT_EQ(answer, Answer(2));
  EXPECT_EQ(Ask(), Answer(3));
}

// Two calls share a run; the one whose thread runs it ends first.
TEST_F(SharedRunTest, ARunWhoseCallEndsFailsNoOther) {
  std::thread first = BeginFirst(CallContext());
  absl::Notification gone[2];
  std::atomic<int> runner = -1;
  answers_.assign(2, absl::UnknownError("none"));
  for (int i : {0, 1}) {
    others_.emplace_back([&, i] {
      const CallContext context(absl::InfiniteFuture(), &gone[i]);
      ++asking_;
      answers_[i] = shared_.Get(context, [&]() -> Answer {
        if (++runs_ == 3) return 3;
        runner = i;
        return context.SleepFor(absl::Hours(1));
      });
    });
  }
  while (asking_ < 2) std::this_thread::yield();
  absl::SleepFor(absl::Milliseconds(20));
  gate_.Notify();
  while (runner < 0) std::this_thread::yield();
  gone[runner].Notify();
  first.join();
  JoinOthers();
  EXPECT_TRUE(absl::IsCancelled(answers_[runner].status())) << answers_[runner].status();
  EXPECT_EQ(answers_[1 - runner], Answer(3));
}

}  // namespace
}  // namespace csi_proxy::host
