#include <thread>

#include "client/cpp/remote_channel.h"
#include "client/cpp/testing_posix.h"
#include "gtest/gtest.h"

namespace csi_proxy::client {
namespace {

constexpr char kGetService[] = "/v1alpha1.System/GetService";

// Runs each test with a caller that can cancel and with one that cannot.
class RemoteCallTest : public testing::TestWithParam<bool> {
 protected:
  RemoteCallTest()
      : server_(directory_.path()),
        channel_(*RemoteChannel::Open(OptionsFor(directory_), "system", "v1alpha1")) {}

  absl::Status Ask(const std::string& name, absl::Duration timeout = absl::Seconds(30),
                   const char* method = kGetService) {
    ::v1alpha1::GetServiceRequest request;
    request.set_name(name);
    const CallOptions options = {.timeout = timeout, .cancelled = GetParam() ? &gone_ : nullptr};
    return channel_->Call(method, MakeCallContext({}, options), request, &response_);
  }

  TemporaryDirectory directory_;
  FakeServer server_;
  std::shared_ptr<RemoteChannel> channel_;
  absl::Notification gone_;
  ::v1alpha1::GetServiceResponse response_;
};

TEST_P(RemoteCallTest, TheAnswerArrives) {
  const absl::Status status = Ask("kubelet");
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(response_.display_name(), "kubelet");
  EXPECT_EQ(response_.status(), ::v1alpha1::RUNNING);
  EXPECT_EQ(server_.system.calls, 1);
}

TEST_P(RemoteCallTest, EveryCodeAndItsTextArriveUnchanged) {
  for (int code = 1; code <= 16; ++code) {
    const std::string number = std::to_string(code);
    const absl::Status status = Ask("code:" + number);
    EXPECT_EQ(static_cast<int>(status.code()), code) << status;
    EXPECT_EQ(status.message(), "text of " + number);
  }
  EXPECT_EQ(server_.system.calls, 16) << "a request was sent twice, or not at all";
}

TEST_P(RemoteCallTest, AFailureLeavesTheResponseAlone) {
  response_.set_display_name("before");
  EXPECT_FALSE(Ask("code:5").ok());
  EXPECT_EQ(response_.display_name(), "before");
}

TEST_P(RemoteCallTest, AMethodTheServiceLacksIsUnimplemented) {
  const absl::Status status = Ask("a", absl::Seconds(30), "/v1alpha1.System/NoSuchMethod");
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
}

TEST_P(RemoteCallTest, TheDeadlineEndsACall) {
  const absl::Time start = absl::Now();
  const absl::Status status = Ask("wait", absl::Milliseconds(300));
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(300));
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
  EXPECT_TRUE(server_.system.cancelled.WaitForNotificationWithTimeout(absl::Seconds(10)))
      << "the service was not told";
}

TEST_P(RemoteCallTest, ACallThatIsTooLateIsNotSent) {
  EXPECT_TRUE(absl::IsDeadlineExceeded(Ask("a", -absl::Seconds(1))));
  EXPECT_EQ(server_.system.calls, 0);
}

INSTANTIATE_TEST_SUITE_P(, RemoteCallTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Cancellable" : "Plain"; });

class CancelTest : public RemoteCallTest {};

TEST_P(CancelTest, TheCallerEndsACallAndTheServiceIsTold) {
  std::thread caller([&] {
    server_.system.waiting.WaitForNotification();
    gone_.Notify();
  });
  const absl::Time start = absl::Now();
  const absl::Status status = Ask("wait");
  caller.join();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
  EXPECT_TRUE(server_.system.cancelled.WaitForNotificationWithTimeout(absl::Seconds(10)));
}

TEST_P(CancelTest, ACallOfACallerThatIsGoneIsNotSent) {
  gone_.Notify();
  EXPECT_TRUE(absl::IsCancelled(Ask("a")));
  EXPECT_EQ(server_.system.calls, 0);
}

INSTANTIATE_TEST_SUITE_P(, CancelTest, testing::Values(true));

}  // namespace
}  // namespace csi_proxy::client
