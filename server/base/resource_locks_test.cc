#include "server/base/resource_locks.h"

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace csi_proxy {
namespace {

TEST(ResourceLocksTest, OneHolderANameAndAnyNumberOfNames) {
  ResourceLocks locks;
  const auto one = locks.Acquire(CallContext(), "disk/1");
  const auto two = locks.Acquire(CallContext(), "disk/2");
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(locks.size(), 2u);
  const CallContext soon = CallContext().WithTimeout(absl::Milliseconds(50));
  const auto again = locks.Acquire(soon, "disk/1");
  EXPECT_TRUE(absl::IsDeadlineExceeded(again.status())) << again.status();
}

TEST(ResourceLocksTest, IsForgottenWhenNobodyHoldsIt) {
  ResourceLocks locks;
  { const auto lock = locks.Acquire(CallContext(), "a"); }
  EXPECT_EQ(locks.size(), 0u);
  {
    const auto lock = locks.Acquire(CallContext(), "a");
    const auto late = locks.Acquire(CallContext().WithTimeout(absl::Milliseconds(20)), "a");
    EXPECT_FALSE(late.ok());
  }
  EXPECT_EQ(locks.size(), 0u);
}

TEST(ResourceLocksTest, ACallerThatGoesAwayStopsWaiting) {
  ResourceLocks locks;
  auto held = locks.Acquire(CallContext(), "a");
  absl::Notification gone;
  absl::Status status;
  std::thread waiter([&] {
    status = locks.Acquire(CallContext(absl::InfiniteFuture(), &gone, nullptr), "a").status();
  });
  absl::SleepFor(absl::Milliseconds(30));
  gone.Notify();
  waiter.join();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
}

TEST(ResourceLocksTest, Excludes) {
  ResourceLocks locks;
  std::atomic<int> inside = 0;
  int served = 0;
  std::optional<ResourceLocks::Lock> first = *locks.Acquire(CallContext(), "a");
  std::vector<std::thread> waiters;
  for (int i = 0; i < 8; ++i) {
    waiters.emplace_back([&] {
      const auto lock = locks.Acquire(CallContext(), "a");
      EXPECT_EQ(inside.fetch_add(1), 0);
      ++served;  // guarded by the lock under test
      inside.fetch_sub(1);
    });
  }
  first.reset();
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(served, 8);
}

TEST(ResourceLocksTest, ManyThreadsOnFewNamesWithAndWithoutPatience) {
  ResourceLocks locks;
  int counters[3] = {};
  std::atomic<int> expected[3] = {};
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const int n = (i + t) % 3;
        const bool patient = i % 5 != 0;
        const CallContext context =
            patient ? CallContext() : CallContext().WithTimeout(absl::Microseconds(50));
        const auto lock = locks.Acquire(context, absl::StrCat("name/", n));
        if (!lock.ok()) continue;
        ++counters[n];
        ++expected[n];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int n = 0; n < 3; ++n) EXPECT_EQ(counters[n], expected[n]);
  EXPECT_EQ(locks.size(), 0u);
}

}  // namespace
}  // namespace csi_proxy
