#include "server/rpc/client_registry.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "server/platform/peer_process.h"

namespace csi_proxy::rpc {
namespace {

TEST(ClientRegistryTest, AProcessHasOneClientUntilTheClientIsReleased) {
  ClientRegistry registry;
  const int64_t own = OwnProcess().process_id;
  auto client = registry.Get(own);
  EXPECT_EQ(client->peer.process_id, own);
  EXPECT_EQ(client->peer.image_path, OwnProcess().image_path);
  EXPECT_EQ(registry.Get(own), client);
  EXPECT_EQ(registry.size(), 1u);
  client.reset();
  EXPECT_EQ(registry.size(), 0u);
}

TEST(ClientRegistryTest, AReusedProcessNumberIsAnotherClient) {
  ClientRegistry registry;
  const auto first = registry.Get(4242, 1);
  EXPECT_NE(registry.Get(4242, 2), first);
  EXPECT_EQ(registry.Get(4242, 1), first);
}

TEST(ClientRegistryTest, UnidentifiedProcessesAreOneTenant) {
  ClientRegistry registry;
  auto own = registry.Get(OwnProcess().process_id);
  // These processes do not exist, so the system has no information about them.
  auto first = registry.Get(0x7ffffff0, 1), second = registry.Get(0x7ffffff4, 1);
  ASSERT_NE(own->tenant, nullptr);
  EXPECT_NE(own->tenant, first->tenant);
  EXPECT_EQ(first->tenant, second->tenant);
  const std::weak_ptr<Tenant> tenant = first->tenant;
  first.reset();
  EXPECT_FALSE(tenant.expired());
  second.reset();
  EXPECT_TRUE(tenant.expired());
  EXPECT_NE(registry.Get(0x7ffffff0, 1)->tenant, nullptr);
}

TEST(ClientRegistryTest, ProcessesOfATenantShareItsLimitOfRequestBytes) {
  const auto tenant = std::make_shared<Tenant>();
  Client first(Peer{.process_id = 1, .image_path = ""}, tenant);
  Client second(Peer{.process_id = 2, .image_path = ""}, tenant);
  Client other(Peer{.process_id = 3, .image_path = ""});
  EXPECT_TRUE(first.TakeBytes(Client::kMaxRequestBytes));
  EXPECT_FALSE(second.TakeBytes(1));
  EXPECT_TRUE(other.TakeBytes(1));
  first.GiveBack(Client::kMaxRequestBytes);
  EXPECT_TRUE(second.TakeBytes(1));
}

TEST(ClientRegistryTest, ClientsMayOutliveTheRegistry) {
  auto registry = std::make_unique<ClientRegistry>();
  const auto client = registry->Get(4242, 1);
  registry.reset();
  EXPECT_EQ(client->peer.process_id, 4242);
}

TEST(ClientRegistryTest, TheRegistryRemembersUpTo64MisbehavingClients) {
  ClientRegistry registry;
  ClientRegistry copy = registry;
  for (int64_t process = 1; process <= 65; ++process) {
    const auto client = registry.Get(process, 1);
    copy.Remember(client);
    copy.Remember(client);
  }
  EXPECT_EQ(registry.size(), 64u);
}

TEST(ClientRegistryTest, ProcessesOfATenantShareMemoryLimitsButNotCallCounts) {
  ClientRegistry registry;
  const auto first = registry.Get(OwnProcess().process_id, 1);
  const auto second = registry.Get(OwnProcess().process_id, 2);
  const auto account = [](const std::shared_ptr<Client>& client) {
    return std::shared_ptr<Http2Account>(client, &client->http2);
  };
  EXPECT_EQ(Http2Account::WithRooms(account(first)), Http2Account::WithRooms(account(second)));
  ASSERT_EQ(first->http2.BeginCall(), Http2Violation::kNone);
  EXPECT_EQ(second->http2.unfinished(), 0u);
  Http2Account& memory = first->tenant->memory;
  ASSERT_TRUE(memory.Hold(memory.limits().held_bytes - memory.held_bytes() - 10));
  EXPECT_FALSE(second->http2.Hold(11));
  EXPECT_EQ(second->http2.held_bytes(), 0u);
  ASSERT_TRUE(second->http2.Hold(10));
  EXPECT_FALSE(first->http2.Hold(1));
  second->http2.Drop(10);
  EXPECT_TRUE(first->http2.Hold(1));
}

TEST(ClientRegistryTest, ManyThreadsGetTheSameClient) {
  ClientRegistry registry;
  const auto kept = registry.Get(1, 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 2000; ++n) {
        EXPECT_EQ(registry.Get(1, 1), kept);
        EXPECT_EQ(registry.Get(2, static_cast<uint64_t>(n % 3))->peer.process_id, 2);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(registry.size(), 1u);
}

}  // namespace
}  // namespace csi_proxy::rpc
