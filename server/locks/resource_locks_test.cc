#include "server/locks/resource_locks.h"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/running_calls.h"

namespace csi_proxy {
namespace {

TEST(ResourceLocksTest, EachNameHasOneHolderAndDifferentNamesAreIndependent) {
  ResourceLocks locks;
  const auto one = locks.Acquire(CallContext(), "disk/1");
  const auto two = locks.Acquire(CallContext(), "disk/2");
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(locks.size(), 2u);
  const CallContext soon = CallContext().WithTimeout(absl::Milliseconds(50));
  const auto again = locks.Acquire(soon, "disk/1");
  EXPECT_EQ(again.status(), absl::DeadlineExceededError(
                                "the call's deadline has passed while another call holds disk/1"));
}

TEST(ResourceLocksTest, TheErrorOfALateCallNamesTheHolder) {
  ResourceLocks locks;
  const RunningCall running("volume.UnmountVolume", "volume_id=1");
  const auto held = locks.Acquire(CallContext(), "disk/1");
  ASSERT_TRUE(held.ok());
  const CallContext soon = CallContext().WithTimeout(absl::Milliseconds(300));
  const absl::Status late = locks.Acquire(soon, "disk/1").status();
  EXPECT_THAT(std::string(late.message()),
              testing::HasSubstr("another call holds disk/1: volume.UnmountVolume, for "));
  ASSERT_EQ(Running::OlderThan(RunKind::kCall, absl::Milliseconds(100)).size(), 1u);
  EXPECT_EQ(Running::OlderThan(RunKind::kCall, absl::Milliseconds(100))[0].subject, "volume_id=1");
  EXPECT_TRUE(Running::OlderThan(RunKind::kCall, absl::Minutes(1)).empty());
}

TEST(ResourceLocksTest, AWaitingCallYieldsItsSlot) {
  struct Slot final : SlotHolder {
    void Lend() override { ++yields; }
    int yields = 0;
  } slot;
  ResourceLocks locks;
  const CallContext soon = CallContext().WithTimeout(absl::Milliseconds(50)).With(&slot);
  const auto held = locks.Acquire(soon, "disk/1");
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(slot.yields, 0);
  EXPECT_FALSE(locks.Acquire(soon, "disk/1").ok());
  EXPECT_EQ(slot.yields, 1);
}

TEST(ResourceLocksTest, AnUnusedNameIsForgotten) {
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

TEST(ResourceLocksTest, AssigningReleasesTheOldLock) {
  ResourceLocks locks;
  const auto acquire = [&](const char* name) {
    return locks.Acquire(CallContext().WithTimeout(absl::Milliseconds(50)), name);
  };
  // Assigns in both orders of the locks' addresses.
  for (const size_t to : {0, 1}) {
    std::vector<ResourceLocks::Lock> two;
    two.push_back(*locks.Acquire(CallContext(), "a"));
    two.push_back(*locks.Acquire(CallContext(), "b"));
    two[to] = std::move(two[1 - to]);
    EXPECT_EQ(locks.size(), 1u);
    EXPECT_TRUE(acquire(to == 0 ? "a" : "b").ok());
    EXPECT_FALSE(acquire(to == 0 ? "b" : "a").ok()) << "which was handed over";
  }
  EXPECT_EQ(locks.size(), 0u);
  ResourceLocks::Lock lock = *locks.Acquire(CallContext(), "a");
  ResourceLocks::Lock& same = lock;
  lock = std::move(same);
  EXPECT_EQ(locks.size(), 1u) << "assigned to itself";
}

// Locks between processes that call `let_go` when they are released.
class NotifyingProcessLocks final : public ProcessLocks {
 public:
  explicit NotifyingProcessLocks(std::function<void()> let_go) : let_go_(std::move(let_go)) {}

  absl::StatusOr<std::unique_ptr<Held>> Acquire(const CallContext&, absl::string_view) override {
    if (refuse) return absl::UnavailableError("another process holds it");
    return std::make_unique<NotifyingHeld>(let_go_);
  }

  bool refuse = false;

 private:
  class NotifyingHeld final : public Held {
   public:
    explicit NotifyingHeld(std::function<void()> let_go) : let_go_(std::move(let_go)) {}
    ~NotifyingHeld() override { let_go_(); }

   private:
    const std::function<void()> let_go_;
  };

  const std::function<void()> let_go_;
};

// In the other order, this process's next call would find the process lock still held.
TEST(ResourceLocksTest, TheProcessLockIsReleasedBeforeTheLockInTheProcess) {
  std::vector<size_t> held;
  ResourceLocks* watched = nullptr;
  auto processes =
      std::make_unique<NotifyingProcessLocks>([&] { held.push_back(watched->size()); });
  NotifyingProcessLocks& other = *processes;
  ResourceLocks locks(std::move(processes));
  watched = &locks;
  { const auto lock = locks.Acquire(CallContext(), "a"); }
  EXPECT_EQ(held, std::vector<size_t>{1});
  {
    ResourceLocks::Lock lock = *locks.Acquire(CallContext(), "a");
    lock = *locks.Acquire(CallContext(), "b");
    EXPECT_EQ(held, (std::vector<size_t>{1, 2}));
  }
  EXPECT_EQ(held, (std::vector<size_t>{1, 2, 1}));
  other.refuse = true;
  const CallContext soon = CallContext().WithTimeout(absl::Seconds(1));
  EXPECT_TRUE(absl::IsUnavailable(locks.Acquire(soon, "a").status()));
  EXPECT_EQ(locks.size(), 0u) << "what is not held everywhere is not held";
}

TEST(ResourceLocksTest, ACancelledCallStopsWaiting) {
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

TEST(ResourceLocksTest, OnlyOneCallHoldsALock) {
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

TEST(ResourceLocksTest, ManyThreadsWithAndWithoutDeadlinesExcludeEachOther) {
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
