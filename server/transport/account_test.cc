#include "server/transport/account.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace csi_proxy::transport {
namespace {

struct CountingWaiter : MessageRoom::Waiter {
  void OnRoom() override { ++rooms; }
  int rooms = 0;
};

class RoomTest : public testing::Test {
 protected:
  std::unique_ptr<MessageRoom> Take(size_t bytes) {
    return std::make_unique<MessageRoom>(account_, bytes, &waiter_);
  }
  const size_t all_ = Http2Limits().room_bytes;
  const std::shared_ptr<Http2Account> account_ = std::make_shared<Http2Account>();
  CountingWaiter waiter_;
};

TEST_F(RoomTest, RoomIsGrantedWithoutAWaitWhileThereIsEnough) {
  const auto first = Take(all_ - 1);
  const auto second = Take(1);
  EXPECT_TRUE(first->granted());
  EXPECT_TRUE(second->granted());
  EXPECT_EQ(account_->room_bytes(), all_);
  EXPECT_EQ(waiter_.rooms, 0) << "only waits are reported";
}

TEST_F(RoomTest, RoomIsGrantedInTheOrderOfWaiting) {
  auto first = Take(all_);
  auto large = Take(all_);
  auto small = Take(1);
  EXPECT_FALSE(large->granted());
  first.reset();
  EXPECT_TRUE(large->granted());
  EXPECT_FALSE(small->granted()) << "a small message does not overtake";
  EXPECT_EQ(waiter_.rooms, 1);
  large.reset();
  EXPECT_TRUE(small->granted());
  EXPECT_EQ(waiter_.rooms, 2);
}

TEST_F(RoomTest, TheNextWaiterGetsRoomIfTheFirstLeaves) {
  const auto first = Take(all_ / 2);
  auto large = Take(all_);
  const auto small = Take(all_ / 2);
  large.reset();
  EXPECT_TRUE(small->granted());
  EXPECT_EQ(account_->room_bytes(), all_);
}

TEST_F(RoomTest, AMessageLargerThanTheLimitIsGrantedRoom) {
  const auto room = Take(all_ * 10);
  EXPECT_TRUE(room->granted());
}

TEST_F(RoomTest, AllRoomIsReturned) {
  {
    const auto granted = Take(all_);
    const auto waiting = Take(1);
  }
  EXPECT_EQ(account_->room_bytes(), 0u);
}

TEST_F(RoomTest, ConcurrentUseLeavesTheAccountEmpty) {
  struct Quiet : MessageRoom::Waiter {
    void OnRoom() override {}
  } waiter;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        const MessageRoom room(account_, all_ / 3, &waiter);
        EXPECT_EQ(account_->BeginCall(), Http2Violation::kNone);
        EXPECT_TRUE(account_->Hold(100));
        account_->Drop(50);
        account_->CreditSent(50);
        account_->Drop(50);
        account_->EndRequest();
        account_->EndCall();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(account_->calls() + account_->unfinished(), 0u);
  EXPECT_EQ(account_->held_bytes() + account_->room_bytes(), 0u);
}

TEST(HoldTest, HoldIsRefusedAtTheLimit) {
  Http2Account account;
  EXPECT_TRUE(account.Hold(account.limits().held_bytes));
  EXPECT_FALSE(account.Hold(1));
  EXPECT_EQ(account.held_bytes(), account.limits().held_bytes) << "a refusal charges nothing";
  account.Drop(1);
  EXPECT_TRUE(account.Hold(1));
}

TEST(HoldTest, ATenantsAccountLimitsTheCallsOfAllItsProcesses) {
  Http2Limits limits;
  limits.held_bytes = 3 * limits.call_bytes;
  const auto tenant = std::make_shared<Http2Account>(limits);
  Http2Account one({}, tenant), other({}, tenant);
  EXPECT_EQ(one.BeginCall(), Http2Violation::kNone);
  EXPECT_EQ(one.BeginCall(), Http2Violation::kNone);
  EXPECT_EQ(other.BeginCall(), Http2Violation::kNone);
  EXPECT_EQ(other.BeginCall(), std::nullopt);
  one.EndRequest();
  one.EndCall();
  EXPECT_EQ(other.BeginCall(), Http2Violation::kNone);
  EXPECT_EQ(tenant->held_bytes(), limits.held_bytes);
}

TEST(HoldTest, TheMemoryLimitIsEnoughForTheAllowedUnfinishedRequests) {
  const Http2Limits limits;
  EXPECT_LE(limits.unfinished * (16u << 10), limits.held_bytes);
}

}  // namespace
}  // namespace csi_proxy::transport
