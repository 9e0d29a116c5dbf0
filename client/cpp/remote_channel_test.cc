
#include "client/cpp/remote_channel.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "absl/strings/match.h"
#include "client/cpp/pipe_path.h"
#include "client/cpp/testing_posix.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy::client {
namespace {

absl::Status OpenStatus(const ClientOptions& options) {
  return RemoteChannel::Open(options, "system", "v1alpha1").status();
}

absl::Status Ask(RemoteChannel& channel, const std::string& name = "a",
                 const CallOptions& options = {}) {
  ::v1alpha1::GetServiceRequest request;
  request.set_name(name);
  ::v1alpha1::GetServiceResponse response;
  return channel.Call("/v1alpha1.System/GetService", MakeCallContext({}, options), request,
                      &response);
}

TEST(RemoteChannelTest, AMissingPipeIsUnavailableWithoutAWait) {
  const TemporaryDirectory directory;
  const absl::Time start = absl::Now();
  const absl::Status status = OpenStatus(OptionsFor(directory));
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(
      absl::StrContains(status.message(), directory.path() + "/csi-proxy-system-v1alpha1.sock"))
      << status;
  EXPECT_LT(absl::Now() - start, absl::Seconds(2)) << "drivers try older versions meanwhile";
}

TEST(RemoteChannelTest, AFileInPlaceOfThePipeIsUnavailable) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() + "/csi-proxy-system-v1alpha1.sock") << "text";
  EXPECT_TRUE(absl::IsUnavailable(OpenStatus(OptionsFor(directory))));
}

TEST(RemoteChannelTest, TheSocketDirectoryOptionOverridesTheEnvironmentAndTheDefault) {
  const ScopedEnvironment unset("CSI_PROXY_SOCKET_DIR", nullptr);
  EXPECT_EQ(PipePath({}, "p"), "/run/csi-proxy/p.sock");
  const ScopedEnvironment empty("CSI_PROXY_SOCKET_DIR", "");
  EXPECT_EQ(PipePath({}, "p"), "/run/csi-proxy/p.sock");
  const ScopedEnvironment set("CSI_PROXY_SOCKET_DIR", "/elsewhere");
  EXPECT_EQ(PipePath({}, "p"), "/elsewhere/p.sock");
  ClientOptions options;
  options.socket_dir = "/mine";
  EXPECT_EQ(PipePath(options, "p"), "/mine/p.sock");
}

TEST(RemoteChannelTest, TheFirstCallAfterARestartSucceeds) {
  const TemporaryDirectory directory;
  FakeServer server(directory.path());
  const auto channel = RemoteChannel::Open(OptionsFor(directory), "system", "v1alpha1");
  ASSERT_TRUE(channel.ok()) << channel.status();
  for (int i = 0; i < 10; ++i) {
    const absl::Status status = Ask(**channel);
    EXPECT_TRUE(status.ok()) << "restart " << i << ": " << status;
    server.Stop();
    server.Start();
  }
  EXPECT_EQ(server.system.calls, 10);
}

TEST(RemoteChannelTest, ACallWaitsForAServiceThatRestarts) {
  const TemporaryDirectory directory;
  FakeServer server(directory.path());
  const auto channel = RemoteChannel::Open(OptionsFor(directory), "system", "v1alpha1");
  ASSERT_TRUE(channel.ok()) << channel.status();
  ASSERT_TRUE(Ask(**channel).ok());
  server.Stop();
  std::thread later([&] {
    absl::SleepFor(absl::Milliseconds(300));
    server.Start();
  });
  const absl::Status status = Ask(**channel);
  later.join();
  EXPECT_TRUE(status.ok()) << status;
}

TEST(RemoteChannelTest, ACallWaitsForTheServiceNoLongerThanTheConnectTimeout) {
  const TemporaryDirectory directory;
  FakeServer server(directory.path());
  ClientOptions options = OptionsFor(directory);
  options.connect_timeout = absl::Milliseconds(300);
  const auto channel = RemoteChannel::Open(options, "system", "v1alpha1");
  ASSERT_TRUE(channel.ok()) << channel.status();
  server.Stop();
  const absl::Time start = absl::Now();
  const absl::Status status = Ask(**channel);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), server.path())) << status;
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(300));
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
}

TEST(RemoteChannelTest, ASocketWithoutAListenerIsUnavailable) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/csi-proxy-system-v1alpha1.sock";
  LeaveSocket(path);
  ClientOptions options = OptionsFor(directory);
  options.connect_timeout = absl::Milliseconds(300);
  const auto channel = RemoteChannel::Open(options, "system", "v1alpha1");
  ASSERT_TRUE(channel.ok()) << channel.status();
  const absl::Status status = Ask(**channel);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "nothing answers on the pipe " + path)) << status;
}

TEST(RemoteChannelTest, TheErrorOfADeniedSocketSaysWhoMayOpenIt) {
  const TemporaryDirectory directory;
  FakeServer server(directory.path());
  ClientOptions options = OptionsFor(directory);
  options.connect_timeout = absl::Milliseconds(1);
  const auto ask = [&](mode_t of_directory, mode_t of_socket) {
    EXPECT_EQ(chmod(server.path().c_str(), of_socket), 0);
    EXPECT_EQ(chmod(directory.path().c_str(), of_directory), 0);
    const uid_t self = geteuid();
    EXPECT_EQ(self == 0 ? seteuid(65534) : 0, 0);
    const auto channel = RemoteChannel::Open(options, "system", "v1alpha1");
    const absl::Status status = channel.ok() ? Ask(**channel) : channel.status();
    EXPECT_EQ(self == 0 ? seteuid(0) : 0, 0);
    EXPECT_TRUE(WasNotReached(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(ask(0, 0600), testing::HasSubstr("access denied: only root and the user"));
  EXPECT_THAT(ask(0755, 0), testing::HasSubstr("access denied: only root and user "));
  chmod(directory.path().c_str(), 0700);
}

TEST(RemoteChannelTest, DeadlineAndCancellationEndTheWaitForTheService) {
  const TemporaryDirectory directory;
  FakeServer server(directory.path());
  ClientOptions options = OptionsFor(directory);
  options.connect_timeout = absl::Minutes(5);
  const auto channel = RemoteChannel::Open(options, "system", "v1alpha1");
  ASSERT_TRUE(channel.ok()) << channel.status();
  server.Stop();
  const absl::Time start = absl::Now();
  const absl::Status late = Ask(**channel, "a", {.timeout = absl::Milliseconds(200)});
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;

  absl::Notification gone;
  std::thread caller([&] {
    absl::SleepFor(absl::Milliseconds(200));
    gone.Notify();
  });
  const absl::Status cancelled = Ask(**channel, "a", {.cancelled = &gone});
  caller.join();
  EXPECT_TRUE(absl::IsCancelled(cancelled)) << cancelled;
  EXPECT_LT(absl::Now() - start, absl::Seconds(20));
}

TEST(RemoteChannelTest, ThreadsCanShareAChannelWhileTheServiceRestarts) {
  const TemporaryDirectory directory;
  FakeServer server(directory.path());
  const auto channel = RemoteChannel::Open(OptionsFor(directory), "system", "v1alpha1");
  ASSERT_TRUE(channel.ok()) << channel.status();
  std::atomic<bool> stop = false;
  std::atomic<int> served = 0, refused = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      while (!stop) {
        const absl::Status status = Ask(**channel);
        // A call that fails because the service ends is not sent again.
        EXPECT_TRUE(status.ok() || absl::IsUnavailable(status) || absl::IsCancelled(status))
            << status;
        ++(status.ok() ? served : refused);
      }
    });
  }
  for (int i = 0; i < 3; ++i) {
    const int before = served;
    while (served < before + 20) absl::SleepFor(absl::Milliseconds(1));
    server.Stop();
    server.Start();
  }
  const int before = served;
  while (served < before + 20) absl::SleepFor(absl::Milliseconds(1));
  stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_GE(server.system.calls, served);
  EXPECT_LE(server.system.calls, served + refused) << "a request was sent twice";
}

constexpr char kGetService[] = "/v1alpha1.System/GetService";

// Runs each test with a caller that can cancel and with a caller that cannot.
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

TEST_P(RemoteCallTest, ACallReturnsTheServicesAnswer) {
  const absl::Status status = Ask("kubelet");
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(response_.display_name(), "kubelet");
  EXPECT_EQ(response_.status(), ::v1alpha1::RUNNING);
  EXPECT_EQ(server_.system.calls, 1);
}

TEST_P(RemoteCallTest, EveryErrorCodeAndTextArrivesUnchanged) {
  for (int code = 1; code <= 16; ++code) {
    const std::string number = std::to_string(code);
    const absl::Status status = Ask("code:" + number);
    EXPECT_EQ(static_cast<int>(status.code()), code) << status;
    EXPECT_EQ(status.message(), "text of " + number);
  }
  EXPECT_EQ(server_.system.calls, 16) << "a request was sent twice, or not at all";
}

TEST_P(RemoteCallTest, AFailedCallDoesNotChangeTheResponse) {
  response_.set_display_name("before");
  EXPECT_FALSE(Ask("code:5").ok());
  EXPECT_EQ(response_.display_name(), "before");
}

TEST_P(RemoteCallTest, AMethodUnknownToTheServiceIsUnimplemented) {
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

TEST_P(RemoteCallTest, AnExpiredCallIsNotSent) {
  EXPECT_TRUE(absl::IsDeadlineExceeded(Ask("a", -absl::Seconds(1))));
  EXPECT_EQ(server_.system.calls, 0);
}

INSTANTIATE_TEST_SUITE_P(, RemoteCallTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Cancellable" : "Plain"; });

class CancelTest : public RemoteCallTest {};

TEST_P(CancelTest, ACancellationEndsTheCallAlsoInTheService) {
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

TEST_P(CancelTest, ACancelledCallIsNotSent) {
  gone_.Notify();
  EXPECT_TRUE(absl::IsCancelled(Ask("a")));
  EXPECT_EQ(server_.system.calls, 0);
}

INSTANTIATE_TEST_SUITE_P(, CancelTest, testing::Values(true));

}  // namespace
}  // namespace csi_proxy::client
