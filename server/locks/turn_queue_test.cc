#include "server/locks/turn_queue.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"

namespace csi_proxy {
namespace {

// Starts a thread that runs `body`. Returns once the thread waits for its turn.
template <typename Body>
std::thread StartWaiter(Mutex& mutex, const TurnQueue& turns, Body body) {
  const auto waiting = [&] {
    const MutexLock lock(mutex);
    return turns.size();
  };
  const size_t before = waiting();
  std::thread thread(body);
  while (waiting() == before) std::this_thread::yield();
  return thread;
}

TEST(TurnQueueTest, WaitersGetTheirTurnsInOrder) {
  Mutex mutex;
  TurnQueue turns;
  std::vector<int> order;
  std::vector<std::thread> waiters;
  for (int i = 0; i < 8; ++i) {
    waiters.push_back(StartWaiter(mutex, turns, [&, i] {
      const MutexLock lock(mutex);
      EXPECT_TRUE(turns.Wait(CallContext(), mutex).ok());
      order.push_back(i);
      turns.Pass();
    }));
  }
  {
    const MutexLock lock(mutex);
    EXPECT_TRUE(turns.Pass());
  }
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_FALSE(turns.Pass()) << "nobody waits any more";
}

// One tenant has three waiters when the only waiter of another tenant arrives.
TEST(TurnQueueTest, TenantsTakeTurns) {
  Mutex mutex;
  TurnQueue turns;
  std::string order;
  std::vector<std::thread> waiters;
  const Peer peers[] = {{.process_id = 1, .image_path = "", .tenant = "a"},
                        {.process_id = 2, .image_path = "", .tenant = "b"},
                        {.process_id = 3, .image_path = "", .tenant = "c"}};
  const auto wait = [&](const Peer& peer, CallContext context) {
    waiters.push_back(StartWaiter(mutex, turns, [&, context] {
      const MutexLock lock(mutex);
      if (!turns.Wait(context.From(&peer, ""), mutex).ok()) return;
      order += peer.tenant;
      turns.Pass();
    }));
  };
  absl::Notification gone;
  wait(peers[0], CallContext());
  wait(peers[0], CallContext());
  wait(peers[0], CallContext());
  wait(peers[2], CallContext(SteadyTime::InfiniteFuture(), &gone));
  gone.Notify();
  waiters.back().join();
  waiters.pop_back();
  wait(peers[1], CallContext());
  {
    const MutexLock lock(mutex);
    EXPECT_TRUE(turns.Pass());
  }
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(order, "abaa");
  EXPECT_FALSE(turns.Pass());
}

// A hundred turns must take less than 1 s, because Pass() wakes its waiter. A hundred intervals of
// polling are 2 s.
TEST(TurnQueueTest, ATurnWakesItsWaiterWithoutPolling) {
  Mutex mutex;
  TurnQueue turns;
  const SteadyTime start = SteadyTime::Now();
  absl::Duration waited;
  for (int i = 0; i < 100; ++i) {
    SteadyTime passed, noticed;
    std::thread waiter = StartWaiter(mutex, turns, [&] {
      const MutexLock lock(mutex);
      EXPECT_TRUE(turns.Wait(CallContext(), mutex).ok());
      noticed = SteadyTime::Now();
    });
    {
      const MutexLock lock(mutex);
      passed = SteadyTime::Now();
      turns.Pass();
    }
    waiter.join();
    waited += noticed - passed;
  }
  EXPECT_LT(waited, absl::Seconds(1)) << "of " << SteadyTime::Now() - start;
}

TEST(TurnQueueTest, AWaiterWhoseCallEndsLeavesTheQueue) {
  Mutex mutex;
  TurnQueue turns;
  bool served = false;
  absl::Notification gone;
  std::thread impatient = StartWaiter(mutex, turns, [&] {
    const MutexLock lock(mutex);
    const CallContext context(SteadyTime::InfiniteFuture(), &gone);
    EXPECT_TRUE(absl::IsCancelled(turns.Wait(context, mutex)));
  });
  std::thread patient = StartWaiter(mutex, turns, [&] {
    const MutexLock lock(mutex);
    served = turns.Wait(CallContext(), mutex).ok();
  });
  gone.Notify();
  impatient.join();
  {
    const MutexLock lock(mutex);
    EXPECT_EQ(turns.size(), 1u);
    EXPECT_TRUE(turns.Pass());
  }
  patient.join();
  EXPECT_TRUE(served);
}

}  // namespace
}  // namespace csi_proxy
