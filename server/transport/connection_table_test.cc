#include "server/transport/connection_table.h"

#include <gtest/gtest.h>

#include "absl/time/clock.h"

namespace csi_proxy::transport {
namespace {

class ConnectionTableTest : public testing::Test {
 protected:
  // What is displaced by it, if anything is.
  SilentConnection* Admit(SilentConnection* connection) {
    SilentConnection* displaced = nullptr;
    EXPECT_TRUE(table_.Admit(connection, &displaced));
    return displaced;
  }
  void Serve(SilentConnection* connection, const std::string& address,
             std::shared_ptr<const Peer> peer) {
    table_.Promote(connection);
    table_.Serve(address, std::move(peer), [this] { ++hung_up_; });
  }

  ConnectionTable table_{{.preface_timeout = absl::Hours(1), .max_connections = 2}};
  SilentConnection first_, second_, third_;
  SilentConnection elsewhere_{.pipe = 1};
  int hung_up_ = 0;
};

TEST_F(ConnectionTableTest, AtTheLimitTheOldestSilentOneOfThePipeIsDisplaced) {
  EXPECT_EQ(Admit(&elsewhere_), nullptr);
  EXPECT_EQ(Admit(&first_), nullptr);
  EXPECT_EQ(Admit(&second_), nullptr);
  EXPECT_EQ(Admit(&third_), &first_);
  EXPECT_FALSE(first_.listed);
  EXPECT_TRUE(elsewhere_.listed);
  EXPECT_EQ(table_.counters().silent, 3u);
  EXPECT_EQ(table_.counters().dropped_for_room, 1u);
}

TEST_F(ConnectionTableTest, LiveConnectionsAreNotDisplaced) {
  const auto peer = std::make_shared<const Peer>();
  Admit(&first_);
  Admit(&second_);
  Serve(&first_, "a", peer);
  Serve(&second_, "b", peer);
  SilentConnection* displaced = &first_;
  EXPECT_FALSE(table_.Admit(&third_, &displaced));
  EXPECT_EQ(displaced, nullptr);
  EXPECT_FALSE(third_.listed);
  EXPECT_EQ(table_.counters().dropped_for_room, 1u);
  table_.End(0, "a", peer);
  EXPECT_EQ(Admit(&third_), nullptr);
}

TEST_F(ConnectionTableTest, TheOverdueAreDroppedTheOldestFirst) {
  EXPECT_EQ(table_.next_deadline(), absl::InfiniteFuture());
  Admit(&first_);
  Admit(&elsewhere_);
  EXPECT_EQ(table_.next_deadline(), first_.deadline);
  EXPECT_EQ(table_.DropOverdue(absl::Now()), nullptr);
  EXPECT_EQ(table_.DropOverdue(elsewhere_.deadline), &first_);
  EXPECT_EQ(table_.DropOverdue(elsewhere_.deadline), &elsewhere_);
  EXPECT_EQ(table_.DropOverdue(elsewhere_.deadline), nullptr);
  EXPECT_EQ(table_.counters().dropped_silent, 2u);
  EXPECT_EQ(table_.counters().silent, 0u);
}

TEST_F(ConnectionTableTest, AnAddressThatIsUsedAgainIsTheNewerConnections) {
  const auto older = std::make_shared<const Peer>();
  const auto newer = std::make_shared<const Peer>();
  Admit(&first_);
  Serve(&first_, "a", older);
  EXPECT_EQ(table_.Find("a"), older);
  Admit(&second_);
  Serve(&second_, "a", newer);
  table_.End(0, "a", older);
  EXPECT_EQ(table_.Find("a"), newer);
  EXPECT_EQ(table_.counters().live, 1u);
  table_.End(0, "a", newer);
  EXPECT_EQ(table_.Find("a"), nullptr);
  EXPECT_EQ(table_.counters().live, 0u);
}

TEST_F(ConnectionTableTest, HangUpReachesTheServedAlone) {
  Admit(&first_);
  Admit(&second_);
  Serve(&first_, "a", std::make_shared<const Peer>());
  table_.HangUp();
  EXPECT_EQ(hung_up_, 1);
}

}  // namespace
}  // namespace csi_proxy::transport
