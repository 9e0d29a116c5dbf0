// Many clients of one tenant, tasks that leave their places, and threads that do not start.
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "server/base/resource_locks.h"
#include "server/rpc/call_limiter.h"
#include "server/rpc/client.h"
#include "server/rpc/executor.h"
#include "server/rpc/executor_testing.h"

namespace csi_proxy::rpc {
namespace {

using Flows = std::vector<std::shared_ptr<Flow>>;

// As a service has them by default.
constexpr Executor::Limits kDefault = {
    .max_threads = 16, .max_queued = 256, .client_share = 75, .max_away = 32};

class TenantsTest : public FairExecutorTest {
 protected:
  // The flows of `count` processes of a tenant.
  static Flows Processes(size_t count, std::shared_ptr<Tenant> tenant = nullptr) {
    if (tenant == nullptr) tenant = std::make_shared<Tenant>();
    Flows flows;
    for (size_t i = 0; i < count; ++i) {
      const auto client = std::make_shared<Client>(
          Peer{.process_id = static_cast<int64_t>(i), .image_path = ""}, tenant);
      flows.emplace_back(client, &client->flows[0]);
    }
    return flows;
  }
};

TEST_F(TenantsTest, ManyProcessesOfOneLeaveThreadsAndTheQueueToOthers) {
  const Flows greedy = Processes(400), honest = Processes(1);
  Executor executor(kDefault);
  for (size_t i = 0; i < 16; ++i) ASSERT_TRUE(Block(executor, greedy[i]).ok());
  AwaitRunning(12);
  EXPECT_EQ(executor.queued(), 4u);
  ASSERT_TRUE(Block(executor, honest[0]).ok());
  AwaitRunning(13);
  size_t refused = 0;
  for (size_t i = 16; i < greedy.size(); ++i) {
    bool client_is_at_limit = false;
    if (Block(executor, greedy[i], &client_is_at_limit).ok()) continue;
    ++refused;
    EXPECT_TRUE(client_is_at_limit);
  }
  EXPECT_EQ(executor.queued(), 192u);
  EXPECT_EQ(refused, 400u - 12 - 192);
  // The honest one has what its share is of the rest.
  ASSERT_TRUE(Block(executor, honest[0]).ok());
  AwaitRunning(14);
  for (int i = 0; i < 32; ++i) EXPECT_TRUE(Block(executor, honest[0]).ok()) << i;
  gate_.Notify();
}

TEST_F(TenantsTest, AProcessLeavesOthersOfItsTenantSome) {
  const Flows flows = Processes(3);
  Executor executor(kDefault);
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(Block(executor, flows[0]).ok());
  AwaitRunning(9);
  EXPECT_EQ(executor.queued(), 3u);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Block(executor, flows[1]).ok());
  AwaitRunning(11);
  ASSERT_TRUE(Block(executor, flows[2]).ok());
  AwaitRunning(12);
  EXPECT_EQ(executor.queued(), 4u);
  gate_.Notify();
}

TEST_F(TenantsTest, AProcessAloneHasAllOfItsTenants) {
  auto tenant = std::make_shared<Tenant>();
  const Flows flows = Processes(1, tenant);
  Processes(5, tenant);  // they have gone
  EXPECT_EQ(tenant->clients(), 1u);
  Executor executor(kDefault);
  for (int i = 0; i < 13; ++i) ASSERT_TRUE(Block(executor, flows[0]).ok());
  AwaitRunning(12);
  EXPECT_EQ(executor.queued(), 1u);
  gate_.Notify();
}

TEST_F(TenantsTest, TheLastThreadsAreKeptForThoseThatHaveNone) {
  const Flows first = Processes(1), second = Processes(1);
  absl::Notification third_ends;
  Executor executor(kDefault);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Block(executor, first[0]).ok());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Block(executor, second[0]).ok());
  AwaitRunning(14);
  ASSERT_TRUE(BlockUntil(&third_ends, executor, Processes(1)[0]).ok());
  ASSERT_TRUE(Block(executor, Processes(1)[0]).ok());
  AwaitRunning(16);
  EXPECT_EQ(executor.queued(), 26u);
  // Now there is none left; but the next that ends is not for those who have some.
  Countdown ended(1);
  ASSERT_TRUE(Note(executor, Processes(1)[0], "newcomer", &ended).ok());
  third_ends.Notify();
  ended.Wait();
  EXPECT_EQ(running_, 16);
  EXPECT_EQ(executor.queued(), 26u);
  gate_.Notify();
}

TEST_F(TenantsTest, TheLastPlacesInTheQueueAreKeptForThoseThatHaveNone) {
  const Flows first = Processes(1), second = Processes(1);
  Executor executor({.max_threads = 1, .max_queued = 16, .client_share = 75});
  ASSERT_TRUE(Block(executor, Processes(1)[0]).ok());
  bool client_is_at_limit = false;
  while (Block(executor, first[0], &client_is_at_limit).ok()) {
  }
  EXPECT_TRUE(client_is_at_limit);
  EXPECT_EQ(executor.queued(), 12u);
  while (Block(executor, second[0], &client_is_at_limit).ok()) {
  }
  EXPECT_FALSE(client_is_at_limit) << "it is others who have too many";
  EXPECT_EQ(executor.queued(), 14u);
  EXPECT_TRUE(Block(executor, Processes(1)[0]).ok());
  EXPECT_TRUE(Block(executor, Processes(1)[0]).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Block(executor, Processes(1)[0])));
  gate_.Notify();
}

TEST_F(TenantsTest, TakeTurnsHoweverManyProcessesOneHas) {
  const Flows many = Processes(3), one = Processes(1);
  Countdown ended(6);
  Executor executor({.max_threads = 1, .max_queued = 10});
  ASSERT_TRUE(Block(executor, three_).ok());
  AwaitRunning(1);
  ASSERT_TRUE(Note(executor, many[0], "a1", &ended).ok());
  ASSERT_TRUE(Note(executor, many[0], "a2", &ended).ok());
  ASSERT_TRUE(Note(executor, many[1], "b", &ended).ok());
  ASSERT_TRUE(Note(executor, many[2], "c", &ended).ok());
  ASSERT_TRUE(Note(executor, one[0], "x1", &ended).ok());
  ASSERT_TRUE(Note(executor, one[0], "x2", &ended).ok());
  gate_.Notify();
  ended.Wait();
  EXPECT_EQ(order_, (std::vector<std::string>{"a1", "x1", "b", "x2", "c", "a2"}));
}

// Does with its place what it is told.
struct Moving final : Task {
  void Run(WorkingPlace* place) override { run(place); }
  std::function<void(WorkingPlace*)> run;
};

class AwayTest : public TenantsTest {
 protected:
  absl::Status Submit(Executor& executor, const std::shared_ptr<Flow>& flow,
                      std::function<void(WorkingPlace*)> run) {
    Moving& task = tasks_.emplace_back();
    task.run = std::move(run);
    return executor.Submit(&task, flow);
  }
  // One more that leaves its place and goes on until the gate opens.
  absl::Status Leave(Executor& executor, const std::shared_ptr<Flow>& flow) {
    return Submit(executor, flow, [this](WorkingPlace* place) {
      place->Leave();
      place->Leave();
      ++away_;
      gate_.WaitForNotification();
    });
  }
  void AwaitAway(int count) {
    while (away_ < count) std::this_thread::yield();
  }

  std::atomic<int> away_ = 0;
  std::deque<Moving> tasks_;
};

TEST_F(AwayTest, WhoWaitsForALockHoldsNoThread) {
  ResourceLocks locks;
  std::optional<ResourceLocks::Lock> held = *locks.Acquire(CallContext(), "disk/1");
  Countdown waited(3), ended(1);
  Executor executor({.max_threads = 1, .max_queued = 8, .max_away = 3});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(Submit(executor, one_, [&](WorkingPlace* place) {
                  const CallContext context = CallContext().At(place);
                  EXPECT_TRUE(locks.Acquire(context, "disk/1").ok());
                  EXPECT_TRUE(locks.Acquire(context, "disk/2").ok());
                  waited.CountDown();
                }).ok());
  }
  ASSERT_TRUE(Note(executor, two_, "other", &ended).ok());
  ended.Wait();
  // Those who have the lock go on at once, though the only place is taken.
  ASSERT_TRUE(Block(executor, two_).ok());
  AwaitRunning(1);
  held.reset();
  waited.Wait();
  gate_.Notify();
}

TEST_F(AwayTest, WhoFindsALockFreeKeepsItsPlace) {
  ResourceLocks locks;
  Countdown locked(1);
  Executor executor({.max_threads = 1, .max_queued = 8, .max_away = 3});
  ASSERT_TRUE(Submit(executor, one_, [&](WorkingPlace* place) {
                EXPECT_TRUE(locks.Acquire(CallContext().At(place), "disk/1").ok());
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

TEST_F(AwayTest, NoMoreThanTheLimitLeaveAndTheRestKeepTheirPlaces) {
  Executor executor({.max_threads = 2, .max_queued = 8, .max_away = 3});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Leave(executor, one_).ok());
  AwaitAway(5);
  Countdown ended(1);
  ASSERT_TRUE(Note(executor, two_, "waits", &ended).ok());
  EXPECT_EQ(executor.queued(), 1u);
  gate_.Notify();
  ended.Wait();
  // They have given back their places.
  Executor& again = executor;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Leave(again, one_).ok());
  AwaitAway(8);
}

// A driver's server has died, and the driver goes on calling.
TEST_F(AwayTest, TwentyCallsToADeadServerLeaveTheirOwnClientThreadsToo) {
  const Flows driver = Processes(1), other = Processes(1);
  Executor executor(kDefault);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Leave(executor, driver[0]).ok());
  AwaitAway(20);
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(Block(executor, driver[0]).ok());
  AwaitRunning(12);
  ASSERT_TRUE(Block(executor, other[0]).ok());
  AwaitRunning(13);
  EXPECT_EQ(executor.queued(), 0u);
  gate_.Notify();
}

TEST_F(AwayTest, IsSharedAsThreadsAre) {
  const Flows greedy = Processes(60), honest = Processes(1);
  Executor executor(kDefault);
  for (size_t i = 0; i < 60; ++i) ASSERT_TRUE(Leave(executor, greedy[i]).ok());
  AwaitAway(36);  // 24 of the 32, and 12 that keep their places
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(Leave(executor, honest[0]).ok());
  AwaitAway(40);
  EXPECT_EQ(executor.queued(), 24u);
  ASSERT_TRUE(Block(executor, honest[0]).ok());
  AwaitRunning(1);
  gate_.Notify();
}

TEST_F(AwayTest, ManyTenantsAtOnceAndAllIsRun) {
  constexpr int kTenants = 4, kTasks = 3000;
  std::atomic<int> ran = 0, refused = 0, running = 0, most = 0;
  std::deque<Moving> tasks(kTenants * kTasks);
  {
    Executor executor({.max_threads = 6, .max_queued = 64, .client_share = 75, .max_away = 4});
    std::vector<std::thread> clients;
    for (int n = 0; n < kTenants; ++n) {
      clients.emplace_back([&, n] {
        Flows flows = Processes(3);
        for (int i = 0; i < kTasks; ++i) {
          Moving& task = tasks[static_cast<size_t>(n) * kTasks + static_cast<size_t>(i)];
          task.run = [&, i](WorkingPlace* place) {
            const int now = ++running;
            for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
            }
            if (i % 4 == 0) place->Leave();
            std::this_thread::yield();
            --running;
            ++ran;
          };
          const std::shared_ptr<Flow>& flow = flows[static_cast<size_t>(i) % flows.size()];
          if (i % 5 == 0 && executor.TryRun(&task, flow)) continue;
          if (!executor.Submit(&task, flow).ok()) ++refused;
        }
      });
    }
    for (std::thread& client : clients) client.join();
  }
  EXPECT_EQ(ran + refused, kTenants * kTasks);
  EXPECT_GT(ran, 0);
  EXPECT_LE(most, 6 + 4);
}

TEST_F(AwayTest, InEmbeddedModeToo) {
  constexpr MethodInfo kMethod = {"smb", "v1", "v1.Smb", "Map", "csi-proxy-smb-v1", "/v1.Smb/Map"};
  CallLimiter calls({.max_threads = 1, .max_queued = 4, .max_away = 2}, {},
                    absl::InfiniteDuration());
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      EXPECT_TRUE(calls
                      .Run(kMethod, CallContext(),
                           [this](const CallContext& context) {
                             context.WithTimeout(absl::Hours(1)).LeavePlace();
                             ++away_;
                             gate_.WaitForNotification();
                             return absl::OkStatus();
                           })
                      .ok());
    });
  }
  // Two have left, and the third keeps the place.
  AwaitAway(3);
  const auto nothing = [](const CallContext&) { return absl::OkStatus(); };
  const CallContext soon(absl::Now() + absl::Milliseconds(50));
  EXPECT_TRUE(absl::IsDeadlineExceeded(calls.Run(kMethod, soon, nothing)));
  gate_.Notify();
  for (std::thread& caller : callers) caller.join();
  EXPECT_TRUE(calls.Run(kMethod, CallContext(), nothing).ok()) << "places are not lost";
}

// A system that starts no more than `left` threads.
class FewThreadsTest : public AwayTest {
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

TEST_F(FewThreadsTest, WithoutAnyThreadACallIsRefusedUntilThereIsOne) {
  Countdown ended(1);
  Executor executor(kDefault, Few(0));
  EXPECT_EQ(Note(executor, one_, "refused", &ended),
            absl::ResourceExhaustedError("no more threads"));
  left_ = 1;
  EXPECT_TRUE(Note(executor, one_, "runs", &ended).ok());
  ended.Wait();
  EXPECT_EQ(order_, std::vector<std::string>{"runs"});
}

TEST_F(FewThreadsTest, WithSomeThreadsTheRestWaitsForThem) {
  Countdown ended(5);
  Executor executor(kDefault, Few(1));
  ASSERT_TRUE(Block(executor, one_).ok());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Note(executor, two_, "", &ended).ok());
  gate_.Notify();
  ended.Wait();
}

TEST_F(FewThreadsTest, WhoWaitsForTheCallersThreadIsRunThere) {
  Executor executor({.max_threads = 1, .max_queued = 4}, Few(0));
  Countdown ended(2);
  Moving here;
  here.run = [&](WorkingPlace*) {
    EXPECT_TRUE(Note(executor, one_, "a", &ended).ok());
    EXPECT_TRUE(Note(executor, two_, "b", &ended).ok());
  };
  EXPECT_TRUE(executor.TryRun(&here));
  EXPECT_EQ(order_, (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace csi_proxy::rpc
