#include "server/rpc/inline_calls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"

namespace csi_proxy::rpc {
namespace {

struct FakeCall final : InlineCalls::Call {
  bool IsCancelled() const override { return given_up; }
  void Cancel() override { told.Notify(); }

  std::atomic<bool> given_up = false;
  absl::Notification told;
};

TEST(InlineCallsTest, SomeThreadGoesOnReading) {
  InlineCalls calls(2);
  FakeCall a, b, c;
  EXPECT_TRUE(calls.TryBegin(&a));
  EXPECT_TRUE(calls.TryBegin(&b));
  EXPECT_FALSE(calls.TryBegin(&c));
  calls.End(&a);
  EXPECT_TRUE(calls.TryBegin(&c));
  EXPECT_FALSE(calls.TryBegin(&a));
  calls.End(&b);
  calls.End(&c);
}

TEST(InlineCallsTest, WithoutAWatcherNoCallIsDoneHere) {
  bool fails = true;
  InlineCalls calls(2, [&](std::function<void()> work) -> absl::StatusOr<std::thread> {
    if (fails) return absl::ResourceExhaustedError("no more threads");
    return StartThread(std::move(work));
  });
  FakeCall call;
  EXPECT_FALSE(calls.TryBegin(&call));
  fails = false;
  EXPECT_TRUE(calls.TryBegin(&call));
  calls.End(&call);
}

TEST(InlineCallsTest, TellsOfACallThatLingers) {
  absl::Notification is_slow;
  InlineCalls calls(2, StartThread, [&] {
    if (!is_slow.HasBeenNotified()) is_slow.Notify();
  });
  FakeCall quick, slow;
  ASSERT_TRUE(calls.TryBegin(&quick));
  calls.End(&quick);
  ASSERT_TRUE(calls.TryBegin(&slow));
  EXPECT_TRUE(is_slow.WaitForNotificationWithTimeout(absl::Seconds(10)));
  calls.End(&slow);
}

TEST(InlineCallsTest, ACallThatIsGivenUpIsTold) {
  InlineCalls calls(2);
  FakeCall given_up, other;
  ASSERT_TRUE(calls.TryBegin(&other));
  ASSERT_TRUE(calls.TryBegin(&given_up));
  given_up.given_up = true;
  EXPECT_TRUE(given_up.told.WaitForNotificationWithTimeout(absl::Seconds(10)));
  EXPECT_FALSE(other.told.HasBeenNotified());
  // Wait for a second Cancel(): a Notification that is notified twice ends a debug build.
  absl::SleepFor(absl::Milliseconds(100));
  calls.End(&given_up);
  calls.End(&other);
}

TEST(InlineCallsTest, ItIsToldAfterALongSilenceAsWell) {
  InlineCalls calls(1);
  FakeCall first, second;
  ASSERT_TRUE(calls.TryBegin(&first));
  calls.End(&first);
  // The watcher falls asleep after a second.
  absl::SleepFor(absl::Milliseconds(1500));
  ASSERT_TRUE(calls.TryBegin(&second));
  second.given_up = true;
  EXPECT_TRUE(second.told.WaitForNotificationWithTimeout(absl::Seconds(10)));
  calls.End(&second);
}

TEST(InlineCallsTest, ManyThreadsAtOnce) {
  InlineCalls calls(3);
  std::atomic<int> under_way = 0, done = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 5000; ++n) {
        FakeCall call;
        call.given_up = n % 2 == 0;
        if (!calls.TryBegin(&call)) continue;
        EXPECT_LE(++under_way, 3);
        ++done;
        --under_way;
        calls.End(&call);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(done, 0);
}

}  // namespace
}  // namespace csi_proxy::rpc
