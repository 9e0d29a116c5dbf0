#include "csi_proxy/call_context.h"

#include <thread>

#include "gtest/gtest.h"

namespace csi_proxy {
namespace {

TEST(CallContextTest, WithoutLimitsGoesOnForever) {
  const CallContext context;
  EXPECT_TRUE(context.Check().ok());
  EXPECT_FALSE(context.cancellable());
  EXPECT_TRUE(context.SleepFor(absl::Milliseconds(1)).ok());
  EXPECT_EQ(context.peer().process_id, 0);
}

TEST(CallContextTest, ThePastDeadlineEndsIt) {
  const CallContext context(absl::Now() - absl::Seconds(1), nullptr, nullptr);
  EXPECT_EQ(context.Check(), absl::DeadlineExceededError("the call's deadline has passed"));
}

TEST(CallContextTest, ASleepEndsAtTheDeadline) {
  const CallContext context = CallContext().WithTimeout(absl::Milliseconds(20));
  const absl::Time start = absl::Now();
  EXPECT_TRUE(absl::IsDeadlineExceeded(context.SleepFor(absl::Hours(1))));
  EXPECT_LT(absl::Now() - start, absl::Minutes(1));
}

TEST(CallContextTest, ASleepEndsWhenTheCallerGoes) {
  absl::Notification gone;
  const CallContext context(absl::InfiniteFuture(), &gone, nullptr);
  std::thread caller([&] {
    // Let the sleep begin.
    absl::SleepFor(absl::Milliseconds(20));
    gone.Notify();
  });
  EXPECT_TRUE(absl::IsCancelled(context.SleepFor(absl::Hours(1))));
  caller.join();
  EXPECT_EQ(context.Check(), absl::CancelledError("the caller went away"));
}

TEST(CallContextTest, TheOutermostWaitYieldsTheSlotOfTheCall) {
  struct Slot final : SlotHolder {
    void Lend() override { ++yields; }
    void Reclaim() override { ++reclaims; }
    int yields = 0, reclaims = 0;
  } slot;
  const CallContext context = CallContext().With(&slot);
  const CallContext derived = context.WithTimeout(absl::Seconds(1)).From(nullptr, "");
  {
    const YieldSlot yielded(derived);
    EXPECT_TRUE(context.SleepFor(absl::Milliseconds(1)).ok());
    EXPECT_EQ(slot.yields, 1);
    EXPECT_EQ(slot.reclaims, 0);
  }
  EXPECT_EQ(slot.reclaims, 1);
  EXPECT_TRUE(context.SleepFor(absl::Milliseconds(1)).ok());
  EXPECT_EQ(slot.yields, 2);
  EXPECT_EQ(slot.reclaims, 2);
  const YieldSlot without(CallContext{});
}

TEST(CallContextTest, ATimeoutNeverExtends) {
  const absl::Time deadline = absl::Now() + absl::Seconds(1);
  const Peer peer{.process_id = 7, .image_path = "x"};
  const CallContext context(deadline, nullptr, &peer);
  EXPECT_EQ(context.WithTimeout(absl::Hours(1)).deadline(), deadline);
  EXPECT_LT(context.WithTimeout(absl::Milliseconds(1)).deadline(), deadline);
  EXPECT_EQ(context.WithTimeout(absl::Hours(1)).peer().process_id, 7);
}

}  // namespace
}  // namespace csi_proxy
