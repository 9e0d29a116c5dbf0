// Tests many clients of one tenant.
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "server/rpc/client.h"
#include "server/rpc/executor.h"
#include "server/rpc/executor_testing.h"

namespace csi_proxy::rpc {
namespace {

TEST_F(TenantsTest, ManyProcessesOfOneLeaveThreadsAndTheQueueToOthers) {
  const ClientQueues greedy = Processes(400), honest = Processes(1);
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
  // The honest tenant has its share of the rest.
  ASSERT_TRUE(Block(executor, honest[0]).ok());
  AwaitRunning(14);
  for (int i = 0; i < 32; ++i) EXPECT_TRUE(Block(executor, honest[0]).ok()) << i;
  gate_.Notify();
}

TEST_F(TenantsTest, AProcessLeavesOthersOfItsTenantSome) {
  const ClientQueues queues = Processes(3);
  Executor executor(kDefault);
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(Block(executor, queues[0]).ok());
  AwaitRunning(9);
  EXPECT_EQ(executor.queued(), 3u);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Block(executor, queues[1]).ok());
  AwaitRunning(11);
  ASSERT_TRUE(Block(executor, queues[2]).ok());
  AwaitRunning(12);
  EXPECT_EQ(executor.queued(), 4u);
  gate_.Notify();
}

TEST_F(TenantsTest, AProcessAloneHasAllOfItsTenants) {
  auto tenant = std::make_shared<Tenant>();
  const ClientQueues queues = Processes(1, tenant);
  Processes(5, tenant);  // they have ended
  EXPECT_EQ(tenant->clients(), 1u);
  Executor executor(kDefault);
  for (int i = 0; i < 13; ++i) ASSERT_TRUE(Block(executor, queues[0]).ok());
  AwaitRunning(12);
  EXPECT_EQ(executor.queued(), 1u);
  gate_.Notify();
}

TEST_F(TenantsTest, TheLastThreadsAreKeptForThoseThatHaveNone) {
  const ClientQueues first = Processes(1), second = Processes(1);
  absl::Notification third_ends;
  Executor executor(kDefault);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Block(executor, first[0]).ok());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Block(executor, second[0]).ok());
  AwaitRunning(14);
  ASSERT_TRUE(BlockUntil(&third_ends, executor, Processes(1)[0]).ok());
  ASSERT_TRUE(Block(executor, Processes(1)[0]).ok());
  AwaitRunning(16);
  EXPECT_EQ(executor.queued(), 26u);
  // Now no slot is left, and the next free one must not go to tenants that have some.
  Countdown ended(1);
  ASSERT_TRUE(Note(executor, Processes(1)[0], "newcomer", &ended).ok());
  third_ends.Notify();
  ended.Wait();
  EXPECT_EQ(running_, 16);
  EXPECT_EQ(executor.queued(), 26u);
  gate_.Notify();
}

TEST_F(TenantsTest, TheLastPlacesInTheQueueAreKeptForThoseThatHaveNone) {
  const ClientQueues first = Processes(1), second = Processes(1);
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
  const ClientQueues many = Processes(3), one = Processes(1);
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

}  // namespace
}  // namespace csi_proxy::rpc
