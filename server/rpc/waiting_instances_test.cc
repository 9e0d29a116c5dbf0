#include "server/rpc/waiting_instances.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <set>
#include <utility>

#include "csi_proxy/steady_time.h"

namespace csi_proxy::rpc {
namespace {

constexpr size_t kPipes = 5, kQuiet = 4;

// Clients take new instances of the pipes in flooded_ immediately. No client opens kQuiet.
class WaitingInstancesTest : public testing::Test {
 protected:
  absl::Status Make(size_t pipe) {
    if (failing_.contains(pipe)) return absl::ResourceExhaustedError("no memory");
    ++made_[pipe];
    instances_.OnAdded(pipe);
    if (flooded_.contains(pipe)) {
      instances_.OnTaken(pipe);
      instances_.Replenish(pipe);
    }
    return absl::OkStatus();
  }
  void RunNext() {
    const std::function<void()> work = std::move(posted_.front());
    posted_.pop_front();
    work();
  }

  SteadyTime now_ = SteadyTime();
  bool takes_work_ = true;
  int woken_ = 0;
  std::vector<uint64_t> warnings_;
  std::set<size_t> flooded_, failing_;
  std::array<size_t, kPipes> made_{};
  std::deque<std::function<void()>> posted_;
  WaitingInstances instances_{kPipes,
                              {.make = [this](size_t pipe) { return Make(pipe); },
                               .post =
                                   [this](std::function<void()> work) {
                                     if (takes_work_) posted_.push_back(std::move(work));
                                     return takes_work_;
                                   },
                               .wake = [this] { ++woken_; },
                               .warn = [this](size_t, const absl::Status&,
                                              uint64_t failures) { warnings_.push_back(failures); },
                               .now = [this] { return now_; }}};
};

TEST_F(WaitingInstancesTest, ReplenishKeepsAFixedNumberOfInstances) {
  instances_.Replenish(0);
  EXPECT_EQ(made_[0], WaitingInstances::kEnough);
  instances_.OnTaken(0);
  instances_.Replenish(0);
  instances_.Replenish(0);
  EXPECT_EQ(made_[0], WaitingInstances::kEnough + 1);
  EXPECT_TRUE(posted_.empty());
}

TEST_F(WaitingInstancesTest, AFloodedPipeGetsEightInstancesPerTurn) {
  flooded_ = {0};
  instances_.Replenish(0);
  EXPECT_EQ(made_[0], 8u);
  ASSERT_EQ(posted_.size(), 1u);
  // The posted turn has not run yet, and other calls must not run in its place.
  instances_.Replenish(0);
  EXPECT_EQ(made_[0], 8u);
  for (size_t turn = 2; turn < 10; ++turn) {
    RunNext();
    EXPECT_EQ(made_[0], 8 * turn);
    EXPECT_EQ(posted_.size(), 1u);
  }
  flooded_.clear();
  RunNext();
  EXPECT_EQ(made_[0], 8 * 9 + WaitingInstances::kEnough);
  EXPECT_TRUE(posted_.empty());
}

TEST_F(WaitingInstancesTest, AQuietPipeGetsItsTurnWhileOtherPipesAreFlooded) {
  flooded_ = {0, 1, 2, 3};
  for (const size_t pipe : flooded_) instances_.Replenish(pipe);
  posted_.push_back([this] { instances_.Replenish(kQuiet); });
  for (int turn = 0; turn < 5; ++turn) RunNext();
  EXPECT_EQ(made_[kQuiet], WaitingInstances::kEnough);
  for (const size_t pipe : flooded_) EXPECT_EQ(made_[pipe], 16u);
}

TEST_F(WaitingInstancesTest, FailuresAreRetriedAfterGrowingPausesAndSeldomLogged) {
  failing_ = {0};
  instances_.Replenish(0);
  EXPECT_EQ(woken_, 1);
  absl::Duration pause;
  SteadyTime next = instances_.Retry();
  for (int failures = 1; failures < 1000; ++failures) {
    const absl::Duration this_one = next - now_;
    EXPECT_GE(this_one, pause);
    EXPECT_LE(this_one, absl::Seconds(3));
    pause = this_one;
    now_ = next;
    next = instances_.Retry();
  }
  EXPECT_EQ(pause, absl::Seconds(3));
  EXPECT_EQ(warnings_, (std::vector<uint64_t>{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}));
  failing_.clear();
  now_ = next;
  EXPECT_EQ(instances_.Retry(), SteadyTime::InfiniteFuture());
  EXPECT_EQ(made_[0], WaitingInstances::kEnough);
  // The pause is short again, but the failure count still limits the log.
  failing_ = {0};
  instances_.OnTaken(0);
  instances_.Replenish(0);
  EXPECT_EQ(instances_.Retry(), now_ + absl::Milliseconds(100));
  EXPECT_EQ(warnings_.size(), 10u);
}

TEST_F(WaitingInstancesTest, NewClientsDoNotShortenAPause) {
  failing_ = {0};
  instances_.Replenish(0);
  failing_.clear();
  instances_.Replenish(0);
  EXPECT_EQ(made_[0], 0u);
  now_ += absl::Milliseconds(100);
  instances_.Retry();
  EXPECT_EQ(made_[0], WaitingInstances::kEnough);
}

TEST_F(WaitingInstancesTest, ATurnThatCannotBeQueuedIsRetriedLater) {
  flooded_ = {0};
  takes_work_ = false;
  instances_.Replenish(0);
  EXPECT_EQ(made_[0], 8u);
  EXPECT_EQ(woken_, 1);
  flooded_.clear();
  now_ = instances_.Retry();
  instances_.Retry();
  EXPECT_EQ(made_[0], 8 + WaitingInstances::kEnough);
}

TEST_F(WaitingInstancesTest, NoInstanceIsMadeAfterAStop) {
  flooded_ = {0};
  instances_.Replenish(0);
  instances_.Stop();
  RunNext();
  instances_.Replenish(1);
  EXPECT_EQ(made_[0], 8u);
  EXPECT_EQ(made_[1], 0u);
  EXPECT_TRUE(posted_.empty());
}

}  // namespace
}  // namespace csi_proxy::rpc
