#include "server/host/shared_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
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
  // Starts the first run on another thread, and returns once the run has begun.
  std::thread BeginFirst(const CallContext& context) {
    std::thread first([this, context] { first_ = Ask(context); });
    while (runs_ == 0) std::this_thread::yield();
    return first;
  }
  // Gets a run that returns the run's number once `open_` is at least that number, or an error if
  // the run is cancelled.
  Answer Ask(const CallContext& context = CallContext()) {
    return shared_.Get(context, [this](const CallContext& run) -> Answer {
      const int number = ++runs_;
      while (open_ < number) {
        if (absl::Status s = run.SleepFor(absl::Milliseconds(1)); !s.ok()) return s;
      }
      return number;
    });
  }
  // Calls Ask() on another thread. When this returns, that thread waits for a run.
  std::thread AskBeside(Answer* answer, const CallContext& context = CallContext()) {
    const int before = shared_.waiting();
    std::thread thread([this, answer, context] { *answer = Ask(context); });
    while (shared_.waiting() == before) std::this_thread::yield();
    return thread;
  }
  SharedRun<Answer> shared_;
  std::atomic<int> runs_ = 0;
  // Runs up to this number may end.
  std::atomic<int> open_ = 0;
  Answer first_ = absl::UnknownError("none"), second_ = first_, third_ = first_;
};

TEST_F(SharedRunTest, CallsThatArriveDuringARunShareTheNextRun) {
  std::thread first = BeginFirst(CallContext());
  std::thread second = AskBeside(&second_), third = AskBeside(&third_);
  EXPECT_EQ(runs_, 1);
  const CallContext soon = CallContext().WithTimeout(absl::Milliseconds(30));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Ask(soon).status()));
  open_ = 3;
  first.join();
  second.join();
  third.join();
  EXPECT_EQ(first_, Answer(1));
  EXPECT_EQ(second_, Answer(2));
  EXPECT_EQ(third_, Answer(2));
  EXPECT_EQ(Ask(), Answer(3));
}

// A run goes on if one of its two callers gives up.
TEST_F(SharedRunTest, ACallerThatGivesUpDoesNotEndTheOtherCallersRun) {
  for (const bool impatient_first : {true, false}) {
    runs_ = open_ = 0;
    std::thread first = BeginFirst(CallContext());
    absl::Notification gone;
    const CallContext impatient(absl::InfiniteFuture(), &gone);
    const CallContext patient;
    std::thread second = AskBeside(&second_, impatient_first ? impatient : patient);
    std::thread third = AskBeside(&third_, impatient_first ? patient : impatient);
    open_ = 1;
    first.join();
    while (runs_ < 2) std::this_thread::yield();
    gone.Notify();
    (impatient_first ? second : third).join();
    open_ = 2;
    (impatient_first ? third : second).join();
    EXPECT_TRUE(absl::IsCancelled((impatient_first ? second_ : third_).status()));
    EXPECT_EQ(impatient_first ? third_ : second_, Answer(2)) << "the run was repeated";
  }
}

TEST_F(SharedRunTest, ARunEndsWhenNoCallWaitsForIt) {
  std::thread first = BeginFirst(CallContext());
  absl::Notification gone;
  const CallContext impatient(absl::InfiniteFuture(), &gone);
  std::thread second = AskBeside(&second_, impatient), third = AskBeside(&third_, impatient);
  open_ = 1;
  first.join();
  while (runs_ < 2) std::this_thread::yield();
  gone.Notify();
  second.join();
  third.join();
  open_ = 3;
  // Hangs if the second run does not end.
  EXPECT_EQ(Ask(), Answer(3));
}

// A caller that calls again without a pause must not keep a waiting call from its run.
TEST_F(SharedRunTest, ANewCallDoesNotOvertakeWaitingCalls) {
  for (int i = 0; i < 20; ++i) {
    runs_ = open_ = 0;
    Answer again = absl::UnknownError("none");
    std::thread first([&] {
      first_ = Ask();
      again = Ask();
    });
    while (runs_ == 0) std::this_thread::yield();
    std::thread second = AskBeside(&second_);
    open_ = 3;
    first.join();
    second.join();
    EXPECT_EQ(second_, Answer(2));
  }
}

// If the machine never returns from the call of a run, later calls must still get answers.
TEST_F(SharedRunTest, AHungRunDoesNotBlockLaterCalls) {
  SharedRun<Answer> shared(absl::Milliseconds(50));
  const auto answer = [](const CallContext&) -> Answer { return 2; };
  absl::Notification returns;
  std::thread hung([&] {
    (void)shared.Get(CallContext(), [&](const CallContext&) -> Answer {
      ++runs_;
      returns.WaitForNotification();
      return 1;
    });
  });
  while (runs_ == 0) std::this_thread::yield();
  EXPECT_EQ(shared.Get(CallContext(), answer), Answer(2));
  EXPECT_EQ(shared.Get(CallContext(), answer), Answer(2));
  returns.Notify();
  hung.join();
  EXPECT_EQ(shared.Get(CallContext(), answer), Answer(2));
}

// A shared run hangs. The calls that arrive next share the next run, which begins beside the hung
// run and ends at the latest of their deadlines.
TEST_F(SharedRunTest, ACallerThatGivesUpDoesNotEndTheRunBesideAHungRun) {
  SharedRun<Answer> shared(absl::Milliseconds(500));
  absl::Notification first_ends, hung_ends, gone, last_ends;
  const auto ask = [&](const CallContext& context) {
    return shared.Get(context, [&](const CallContext& run) -> Answer {
      const int number = ++runs_;
      if (number == 1) first_ends.WaitForNotification();
      if (number == 2) hung_ends.WaitForNotification();
      while (number > 2 && !last_ends.HasBeenNotified()) {
        if (run.cancelled()) return absl::CancelledError("cancelled");
        std::this_thread::yield();
      }
      return number;
    });
  };
  std::vector<std::thread> hung, impatient;
  hung.emplace_back([&] { (void)ask({}); });
  while (runs_ == 0) std::this_thread::yield();
  for (int i = 0; i < 2; ++i) hung.emplace_back([&] { (void)ask({}); });
  while (shared.waiting() < 2 && runs_ < 2) std::this_thread::yield();
  first_ends.Notify();
  while (runs_ < 2) std::this_thread::yield();
  const CallContext leaves(absl::InfiniteFuture(), &gone);
  std::thread patient([&] { second_ = ask({}); });
  for (int i = 0; i < 8; ++i) impatient.emplace_back([&] { (void)ask(leaves); });
  while (runs_ < 3) std::this_thread::yield();
  gone.Notify();
  for (std::thread& thread : impatient) thread.join();
  last_ends.Notify();
  patient.join();
  EXPECT_TRUE(second_.ok()) << second_.status();
  hung_ends.Notify();
  for (std::thread& thread : hung) thread.join();
}

// Destroys a SharedRun while its run goes on, although the run was cancelled when all callers left.
TEST_F(SharedRunTest, AnAbandonedRunIsCancelledOnce) {
  auto shared = std::make_unique<SharedRun<Answer>>();
  absl::Notification first_ends, gone, returns;
  const CallContext leaves(absl::InfiniteFuture(), &gone);
  const auto run = [&](const CallContext&) -> Answer {
    (++runs_ == 1 ? first_ends : returns).WaitForNotification();
    return 1;
  };
  std::thread first([&] { (void)shared->Get(CallContext(), run); });
  while (runs_ == 0) std::this_thread::yield();
  std::thread second([&] { (void)shared->Get(leaves, run); });
  std::thread third([&] { (void)shared->Get(leaves, run); });
  while (shared->waiting() < 2) std::this_thread::yield();
  first_ends.Notify();
  first.join();
  while (runs_ < 2) std::this_thread::yield();
  gone.Notify();
  second.join();
  third.join();
  std::thread destroyer([&] { shared.reset(); });
  absl::SleepFor(absl::Milliseconds(10));
  returns.Notify();
  destroyer.join();
}

}  // namespace
}  // namespace csi_proxy::host
