#include "server/http/eviction_order.h"

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"

namespace csi_proxy {
namespace {

struct Connection {
  int client, stage;
  uint64_t number;
};

using Order = EvictionOrder<int, Connection>;

// Returns the connection that First() must return. Compares all connections.
const Connection* ByTheRule(const std::vector<Connection*>& all) {
  const auto rank = [&](const Connection* one) {
    return std::tuple(-std::ranges::count(all, one->client, &Connection::client), one->stage,
                      one->number);
  };
  return *std::ranges::min_element(all, {}, rank);
}

TEST(EvictionOrderTest, FirstReturnsTheRightConnectionInRandomSequences) {
  std::mt19937 random(1);
  const auto below = [&](size_t end) { return static_cast<int>(random() % end); };
  Order order;
  std::vector<Connection> all(2000);
  std::vector<Connection*> held;
  const auto remove = [&](size_t at) {
    order.Remove(held[at]->client, held[at]->stage, held[at]->number);
  };
  for (uint64_t next = 0; next < all.size(); ++next) {
    all[next] = {.client = below(6), .stage = below(3), .number = next};
    const auto& [client, stage, number] = all[next];
    order.Add(client, stage, number, held.emplace_back(&all[next]));
    ASSERT_EQ(order.size(), held.size());
    ASSERT_EQ(order.First(), ByTheRule(held));
    // A random connection enters a random stage.
    const size_t moved = random() % held.size();
    remove(moved);
    held[moved]->stage = below(3);
    order.Add(held[moved]->client, held[moved]->stage, held[moved]->number, held[moved]);
    ASSERT_EQ(order.First(), ByTheRule(held));
    if (held.size() > 20 || below(3) == 0) {
      const size_t left = random() % held.size();
      remove(left);
      held.erase(held.begin() + static_cast<ptrdiff_t>(left));
    }
    ASSERT_EQ(order.All().size(), held.size());
  }
}

// If each call visited every client, this test would take hours.
TEST(EvictionOrderTest, ManyClientsDoNotSlowDownAddAndRemove) {
  constexpr int kMany = 300'000;
  Order order;
  Connection one = {};
  for (int i = 0; i < kMany; ++i) {
    order.Add(i, 0, static_cast<uint64_t>(i), &one);
    ASSERT_EQ(order.First(), &one);
  }
  for (int i = 0; i < kMany; ++i) order.Remove(i, 0, static_cast<uint64_t>(i));
  EXPECT_EQ(order.size(), 0u);
}

}  // namespace
}  // namespace csi_proxy
