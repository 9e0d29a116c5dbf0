// A call ends when its caller wants, even if the server misbehaves.
#include <google/protobuf/wrappers.pb.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "client/cpp/misbehaving_server.h"
#include "client/cpp/pipe_path.h"
#include "client/cpp/remote_channel.h"
#include "csi_proxy/call_options.h"
#include "csi_proxy/steady_time.h"

namespace csi_proxy::client {
namespace {

constexpr absl::Duration kTimeout = absl::Milliseconds(300);
// The extra time that a call may take on a busy machine. Without the code under test, calls would
// never end.
constexpr absl::Duration kSlack = absl::Seconds(4);

// Larger than the buffer of a pipe or socket.
constexpr size_t kLarge = 4 << 20;

class CallEndTest : public testing::TestWithParam<int> {
 protected:
  CallEndTest() : server_(Path(), static_cast<Misbehaviour>(GetParam())) {
    auto channel = RemoteChannel::OpenPath({.connect_timeout = absl::Minutes(5)}, Path());
    EXPECT_TRUE(channel.ok()) << channel.status();
    if (channel.ok()) channel_ = *std::move(channel);
  }
  ~CallEndTest() override {
    channel_.reset();
    std::error_code ignored;
    std::filesystem::remove(Path(), ignored);
  }

  static std::string Path() {
    static const std::string name = absl::StrCat("csi-proxy-test-", absl::ToUnixNanos(absl::Now()));
    ClientOptions options;
    options.socket_dir = std::filesystem::temp_directory_path().string();
    return PipePath(options, name);
  }

  absl::Status Call(size_t size, const CallOptions& options) {
    google::protobuf::StringValue request, response;
    request.set_value(std::string(size, 'x'));
    return channel_->Call("/v1.System/Whatever", MakeCallContext({}, options), request, &response);
  }

  void ExpectEnd(size_t size) {
    const SteadyTime begin = SteadyTime::Now();
    const absl::Status status = Call(size, {.timeout = kTimeout});
    EXPECT_FALSE(status.ok() || absl::IsPermissionDenied(status)) << status;
    EXPECT_LT(SteadyTime::Now() - begin, kTimeout + kSlack) << status;
  }

  MisbehavingServer server_;
  std::shared_ptr<RemoteChannel> channel_;
};

TEST_P(CallEndTest, TwoConsecutiveCallsEnd) {
  ASSERT_NE(channel_, nullptr);
  for (const size_t size : {size_t{10}, kLarge}) {
    ExpectEnd(size);
    ExpectEnd(size);
  }
}

TEST_P(CallEndTest, ALargeFirstCallOfAChannelEnds) {
  ASSERT_NE(channel_, nullptr);
  ExpectEnd(kLarge);
  ExpectEnd(10);
}

TEST_P(CallEndTest, ConcurrentCallsEnd) {
  ASSERT_NE(channel_, nullptr);
  std::vector<std::thread> callers;
  for (int i = 0; i < 16; ++i) {
    callers.emplace_back([this, i] { ExpectEnd(i % 4 == 0 ? kLarge / 4 : 10); });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST_P(CallEndTest, ACancelledCallEnds) {
  ASSERT_NE(channel_, nullptr);
  for (const size_t size : {size_t{10}, kLarge}) {
    absl::Notification gone;
    std::thread canceller([&gone] {
      absl::SleepFor(absl::Milliseconds(100));
      gone.Notify();
    });
    const SteadyTime begin = SteadyTime::Now();
    const absl::Status status = Call(size, {.timeout = absl::Minutes(5), .cancelled = &gone});
    EXPECT_FALSE(status.ok());
    EXPECT_LT(SteadyTime::Now() - begin, kSlack) << status;
    canceller.join();
  }
}

std::string NameOf(const testing::TestParamInfo<int>& info) {
  constexpr const char* kNames[] = {"Silent",      "Listener",       "ClosesAtOnce",
                                    "Garbage",     "Busy",           "Stuck",
                                    "ClosesCalls", "GarbageToCalls", "IgnoresCalls"};
  return kNames[info.param];
}

INSTANTIATE_TEST_SUITE_P(, CallEndTest,
                         testing::Range(static_cast<int>(Misbehaviour::kSilent),
                                        static_cast<int>(Misbehaviour::kIgnoresCalls) + 1),
                         NameOf);

// Returns the time from the start of a call with these options to its deadline.
absl::Duration Allowed(const CallOptions& defaults, const CallOptions& options) {
  const SteadyTime deadline = MakeCallContext(defaults, options).deadline();
  return deadline - SteadyTime::Now();
}

TEST(CallOptionsTest, CallTimeoutOverridesClientTimeoutAndDefaultsToAMinute) {
  constexpr absl::Duration kSlack = absl::Seconds(5);
  const CallOptions ten = {.timeout = absl::Seconds(10)}, hour = {.timeout = absl::Hours(1)};
  EXPECT_LE(Allowed(hour, ten), absl::Seconds(10));
  EXPECT_GT(Allowed(hour, ten), absl::Seconds(10) - kSlack);
  EXPECT_LE(Allowed(hour, {}), absl::Hours(1));
  EXPECT_GT(Allowed(hour, {}), absl::Hours(1) - kSlack);
  EXPECT_LE(Allowed({}, {}), absl::Minutes(1));
  EXPECT_GT(Allowed({}, {}), absl::Minutes(1) - kSlack);
}

TEST(CallOptionsTest, AnInfiniteTimeoutSetsNoDeadline) {
  const CallContext context = MakeCallContext({}, {.timeout = absl::InfiniteDuration()});
  EXPECT_EQ(context.deadline(), SteadyTime::InfiniteFuture());
}

TEST(CallOptionsTest, ANegativeTimeoutHasExpired) {
  const CallContext context = MakeCallContext({}, {.timeout = -absl::Seconds(1)});
  EXPECT_TRUE(absl::IsDeadlineExceeded(context.Check())) << context.Check();
}

TEST(CallOptionsTest, CallCancellationOverridesClientCancellation) {
  absl::Notification of_client, of_call;
  of_client.Notify();
  EXPECT_FALSE(MakeCallContext({}, {}).cancellable());
  EXPECT_TRUE(MakeCallContext({.cancelled = &of_client}, {}).cancelled());
  EXPECT_FALSE(MakeCallContext({.cancelled = &of_client}, {.cancelled = &of_call}).cancelled());
  of_call.Notify();
  EXPECT_TRUE(MakeCallContext({}, {.cancelled = &of_call}).cancelled());
}

TEST(CallOptionsTest, CallTraceOverridesClientTrace) {
  const CallOptions one = {.traceparent =
                               "00-11111111111111111111111111111111-2222222222222222-00"};
  const CallOptions two = {.traceparent =
                               "00-33333333333333333333333333333333-4444444444444444-00"};
  EXPECT_EQ(MakeCallContext(one, two).traceparent(), two.traceparent);
  EXPECT_EQ(MakeCallContext(one, {}).traceparent(), one.traceparent);
}

}  // namespace
}  // namespace csi_proxy::client
