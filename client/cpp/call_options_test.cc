#include "csi_proxy/call_options.h"

#include "gtest/gtest.h"

namespace csi_proxy::client {
namespace {

// Returns the timeout of a call made now, less the time that the test has used.
absl::Duration Allowed(const CallOptions& defaults, const CallOptions& options) {
  const absl::Time deadline = MakeCallContext(defaults, options).deadline();
  return deadline - absl::Now();
}

TEST(CallOptionsTest, TheCallDecidesThenTheClientThenAMinute) {
  constexpr absl::Duration kSlack = absl::Seconds(5);
  const CallOptions ten = {.timeout = absl::Seconds(10)}, hour = {.timeout = absl::Hours(1)};
  EXPECT_LE(Allowed(hour, ten), absl::Seconds(10));
  EXPECT_GT(Allowed(hour, ten), absl::Seconds(10) - kSlack);
  EXPECT_LE(Allowed(hour, {}), absl::Hours(1));
  EXPECT_GT(Allowed(hour, {}), absl::Hours(1) - kSlack);
  EXPECT_LE(Allowed({}, {}), absl::Minutes(1));
  EXPECT_GT(Allowed({}, {}), absl::Minutes(1) - kSlack);
}

TEST(CallOptionsTest, AnInfiniteTimeoutIsNoDeadline) {
  const CallContext context = MakeCallContext({}, {.timeout = absl::InfiniteDuration()});
  EXPECT_EQ(context.deadline(), absl::InfiniteFuture());
}

TEST(CallOptionsTest, ATimeoutInThePastHasExpired) {
  const CallContext context = MakeCallContext({}, {.timeout = -absl::Seconds(1)});
  EXPECT_TRUE(absl::IsDeadlineExceeded(context.Check())) << context.Check();
}

TEST(CallOptionsTest, CancellationIsTheCallsOrElseTheClients) {
  absl::Notification of_client, of_call;
  of_client.Notify();
  EXPECT_FALSE(MakeCallContext({}, {}).cancellable());
  EXPECT_TRUE(MakeCallContext({.cancelled = &of_client}, {}).cancelled());
  EXPECT_FALSE(MakeCallContext({.cancelled = &of_client}, {.cancelled = &of_call}).cancelled());
  of_call.Notify();
  EXPECT_TRUE(MakeCallContext({}, {.cancelled = &of_call}).cancelled());
}

TEST(CallOptionsTest, TheTraceIsTheCallsOrElseTheClients) {
  const CallOptions one = {.traceparent =
                               "00-11111111111111111111111111111111-2222222222222222-00"};
  const CallOptions two = {.traceparent =
                               "00-33333333333333333333333333333333-4444444444444444-00"};
  EXPECT_EQ(MakeCallContext(one, two).traceparent(), two.traceparent);
  EXPECT_EQ(MakeCallContext(one, {}).traceparent(), one.traceparent);
}

}  // namespace
}  // namespace csi_proxy::client
