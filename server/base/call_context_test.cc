#include "csi_proxy/call_context.h"

#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace csi_proxy {
namespace {

TEST(CallContextTest, AContextWithoutLimitsNeverEnds) {
  const CallContext context;
  EXPECT_TRUE(context.Check().ok());
  EXPECT_FALSE(context.cancellable());
  EXPECT_TRUE(context.SleepFor(absl::Milliseconds(1)).ok());
  EXPECT_EQ(context.peer().process_id, 0);
}

TEST(CallContextTest, ADeadlineInThePastHasEndedTheCall) {
  const CallContext context(absl::Now() - absl::Seconds(1), nullptr, nullptr);
  EXPECT_EQ(context.Check(), absl::DeadlineExceededError("the call's deadline has passed"));
}

TEST(CallContextTest, ASleepEndsAtTheDeadline) {
  const CallContext context = CallContext().WithTimeout(absl::Milliseconds(20));
  const absl::Time start = absl::Now();
  EXPECT_TRUE(absl::IsDeadlineExceeded(context.SleepFor(absl::Hours(1))));
  EXPECT_LT(absl::Now() - start, absl::Minutes(1));
}

TEST(CallContextTest, ACancellationEndsASleep) {
  absl::Notification gone;
  const CallContext context(absl::InfiniteFuture(), &gone, nullptr);
  std::thread caller([&] {
    // Let the sleep begin.
    absl::SleepFor(absl::Milliseconds(20));
    gone.Notify();
  });
  EXPECT_TRUE(absl::IsCancelled(context.SleepFor(absl::Hours(1))));
  caller.join();
  EXPECT_EQ(context.Check(), absl::CancelledError("the caller cancelled the call or disconnected"));
}

TEST(CallContextTest, OnlyTheOutermostWaitYieldsTheCallsSlot) {
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

TEST(CallContextTest, ATimeoutNeverExtendsTheDeadline) {
  const SteadyTime deadline = SteadyTime::Now() + absl::Seconds(1);
  const Peer peer{.process_id = 7, .image_path = "x"};
  const CallContext context(deadline, nullptr, &peer);
  EXPECT_EQ(context.WithTimeout(absl::Hours(1)).deadline(), deadline);
  EXPECT_LT(context.WithTimeout(absl::Milliseconds(1)).deadline(), deadline);
  EXPECT_EQ(context.WithTimeout(absl::Hours(1)).peer().process_id, 7);
}

constexpr char kTraceparent[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(CallContextTest, DerivedContextsKeepTheTrace) {
  const CallContext traced = CallContext().Traced(kTraceparent);
  for (const CallContext& context :
       {traced, traced.From(nullptr, "p"), traced.With(nullptr), traced.WithTimeout(absl::Hours(1)),
        traced.Leaving(2, absl::Hours(1))}) {
    EXPECT_EQ(context.traceparent(), kTraceparent);
    EXPECT_EQ(context.trace(), "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7");
  }
  EXPECT_EQ(CallContext().trace(), "");
}

TEST(CallContextTest, AnInvalidTraceparentIsIgnored) {
  const std::string valid = kTraceparent;
  const auto with = [&](size_t at, const std::string& text) {
    return std::string(valid).replace(at, text.size(), text);
  };
  for (const std::string& text : {
           std::string(),
           valid.substr(0, 54),
           valid + "0",
           valid + "-00",
           with(0, "01"),
           with(0, "ff"),
           with(2, "_"),
           with(3, std::string(32, '0')),
           with(3, "4B"),
           with(3, "\n"),
           with(20, std::string(1, '\0')),
           with(34, "\""),
           with(35, " "),
           with(36, std::string(16, '0')),
           with(51, "g"),
           with(52, "0"),
           with(53, "0G"),
           with(54, "\xff"),
           std::string(55, '-'),
           std::string(1 << 20, '0'),
       }) {
    EXPECT_EQ(CallContext().Traced(valid).Traced(text).traceparent(), "") << text.substr(0, 60);
  }
}

}  // namespace
}  // namespace csi_proxy
