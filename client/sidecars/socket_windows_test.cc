// gRPC over Windows sockets. TCP instead of Unix sockets, which Wine 8 lacks.
#include "client/sidecars/socket_testing_windows.h"
// Must follow winsock2.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "client/cpp/misbehaving_server.h"
#include "filesystem/v1alpha1/api.grpc.pb.h"
#include "server/machine/windows/testing_windows.h"
#include "server/rpc/pipe/object_security.h"
#include "server/rpc/pipe/testing/loopback.h"

namespace csi_proxy::sidecars {
namespace {

using ::testing::HasSubstr;

// Returns true if the condition becomes true within kSoon.
template <typename Condition>
bool Soon(Condition condition) {
  const absl::Time give_up = absl::Now() + kSoon;
  while (!condition() && absl::Now() < give_up) absl::SleepFor(absl::Milliseconds(2));
  return condition();
}

// A call on its own thread that does not end by itself.
class LongCall {
 public:
  // Sends a request of `request_bytes` bytes.
  explicit LongCall(std::shared_ptr<grpc::Channel> channel, size_t request_bytes = 0)
      : thread_([this, channel = std::move(channel), request_bytes] {
          ::v1alpha1::MkdirRequest request;
          request.set_path(std::string(request_bytes, 'x'));
          ::v1alpha1::MkdirResponse response;
          grpc::ClientContext context;
          status_ = Filesystem::NewStub(channel)->Mkdir(&context, request, &response);
          ended_.Notify();
        }) {}
  ~LongCall() { thread_.join(); }

  bool ended() const { return ended_.HasBeenNotified(); }
  grpc::Status Await() {
    EXPECT_TRUE(ended_.WaitForNotificationWithTimeout(kSoon));
    return status_;
  }

 private:
  absl::Notification ended_;
  grpc::Status status_;
  std::thread thread_;
};

class SocketTransportTest : public testing::Test {
 protected:
  SocketTransportTest() {
    pipe::BoundSocket bound = pipe::BindLoopback();
    address_ = bound.address;
    server_ = *ListenOn(std::move(bound.socket), AF_INET, std::nullopt, "the test", &service_);
  }
  std::unique_ptr<SocketChannel> Connect() {
    auto channel = ConnectTo(address_, "the test", absl::Now() + kSoon);
    EXPECT_TRUE(channel.ok()) << channel.status();
    return *std::move(channel);
  }

  Service service_;
  pipe::SocketAddress address_;
  std::unique_ptr<SocketServer> server_;
};

TEST_F(SocketTransportTest, CallsAreAnswered) {
  const auto channel = Connect();
  std::string text;
  for (const size_t size : {4, 100, 100'000}) {
    service_.text = std::string(size, '7');
    const grpc::Status status = Ask(*channel, absl::Now() + kSoon, &text);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(text, service_.text) << size;
  }
  service_.text = std::string(SocketChannel::kMostReceived, '7');
  EXPECT_EQ(Ask(*channel).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(SocketTransportTest, ManyConnectionsAtOnce) {
  std::atomic<int> answers = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      std::vector<std::unique_ptr<SocketChannel>> channels;
      for (int j = 0; j < 25; ++j) channels.push_back(Connect());
      for (const auto& channel : channels) answers += Ask(*channel).ok() ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answers, 200);
}

TEST_F(SocketTransportTest, AClientThatVanishesEndsItsCalls) {
  auto channel = Connect();
  LongCall call(channel->channel());
  ASSERT_TRUE(Soon([&] { return service_.waiting == 1; }));
  channel.reset();
  EXPECT_EQ(call.Await().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(Soon([&] { return service_.waiting == 0; }));
  EXPECT_TRUE(Ask(*Connect()).ok()) << "others are served";
}

TEST_F(SocketTransportTest, AStopEndsTheCallsUnderWay) {
  const auto channel = Connect();
  LongCall call(channel->channel());
  ASSERT_TRUE(Soon([&] { return service_.waiting == 1; }));
  const absl::Time start = absl::Now();
  server_.reset();
  EXPECT_LT(absl::Now() - start, absl::Seconds(2));
  EXPECT_EQ(service_.waiting, 0);
  EXPECT_FALSE(call.Await().ok());
  EXPECT_EQ(Ask(*channel).error_code(), grpc::StatusCode::UNAVAILABLE);
}

// Returns the bytes of a client that calls but does not read: the preface, settings that let the
// server send without limit, and a call of PathExists.
std::string CallWithoutLimit() {
  const std::string path = "/v1alpha1.Filesystem/PathExists", type = "application/grpc";
  const auto text = [](const std::string& value) {
    return static_cast<char>(value.size()) + value;
  };
  // POST and http by index, then names by their index in the static table of RFC 7541.
  const std::string headers = "\x83\x86\x04" + text(path) + '\x01' + text("localhost") +
                              "\x0f\x10" + text(type) + '\0' + text("te") + text("trailers");
  const auto frame = [](char kind, char flags, const std::string& body) {
    const std::string length{'\0', '\0', static_cast<char>(body.size())};
    return length + kind + flags + std::string("\0\0\0\1", 4) + body;
  };
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + client::kWideOpen + frame(1, 4, headers) +
         frame(0, 1, std::string(5, '\0'));
}

TEST_F(SocketTransportTest, AStopDoesNotWaitForWhoDoesNotRead) {
  service_.text = std::string(64 << 20, 'x');
  const pipe::Socket client = *pipe::Connect(address_, absl::Now() + kSoon);
  ASSERT_TRUE(pipe::SendAll(client, CallWithoutLimit()));
  // Part of the answer has arrived, and the buffers have no room for the rest.
  ASSERT_TRUE(Soon([&] {
    u_long bytes = 0;
    ioctlsocket(client.get(), static_cast<long>(FIONREAD), &bytes);
    return bytes > 10'000;
  }));
  absl::SleepFor(absl::Milliseconds(100));
  const absl::Time start = absl::Now();
  server_.reset();
  EXPECT_LT(absl::Now() - start, absl::Seconds(2));
}

TEST_F(SocketTransportTest, NothingIsLeftOfConnections) {
  const auto connect_and_leave = [&](int times) {
    for (int i = 0; i < times; ++i) {
      const auto channel = Connect();
      EXPECT_TRUE(Ask(*channel).ok());
      // Connects and disconnects, as the kubelet does to check whether this is a socket.
      EXPECT_TRUE(pipe::Connect(address_, absl::Now() + kSoon).ok());
    }
  };
  connect_and_leave(20);
  const machine::HandleWatch handles;
  connect_and_leave(300);
  EXPECT_TRUE(Soon([&] { return handles.Growth() < 100; })) << handles.Growth();
}

// Clients that connect and disconnect do not delay a stop, in any state.
TEST_F(SocketTransportTest, StopsWhileClientsComeAndGo) {
  absl::Mutex mutex;
  std::atomic<bool> stop = false;
  std::atomic<int> answers = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&] {
      while (!stop) {
        pipe::SocketAddress address;
        {
          absl::MutexLock lock(&mutex);
          address = address_;
        }
        auto channel = ConnectTo(address, "the test", absl::Now() + absl::Milliseconds(20));
        if (!channel.ok()) continue;
        LongCall call((*channel)->channel());
        if (Ask(**channel).ok()) ++answers;
        // Reset while the long call is still under way.
        channel->reset();
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    absl::SleepFor(absl::Milliseconds(100));
    const absl::Time start = absl::Now();
    server_.reset();
    EXPECT_LT(absl::Now() - start, absl::Seconds(5));
    pipe::BoundSocket bound = pipe::BindLoopback();
    absl::MutexLock lock(&mutex);
    address_ = bound.address;
    server_ = *ListenOn(std::move(bound.socket), AF_INET, std::nullopt, "the test", &service_);
  }
  stop = true;
  for (std::thread& client : clients) client.join();
  EXPECT_GT(answers, 20);
  EXPECT_TRUE(Soon([&] { return service_.waiting == 0; }));
}

// --- Servers that do not serve ---

// Runs a function on each connection, and keeps the connections open until its own end.
class RawServer {
 public:
  explicit RawServer(std::string says, bool closes = false) {
    pipe::BoundSocket bound = pipe::BindLoopback();
    address_ = bound.address;
    listener_ = *pipe::SocketListener::Start(
        std::move(bound.socket), AF_INET,
        [this, says = std::move(says), closes](std::unique_ptr<pipe::Stream> stream) {
          if (!says.empty()) {
            pipe::Stream::Result ignored;
            stream->Write(
                says.data(), static_cast<DWORD>(says.size()),
                [](void* self, DWORD, DWORD) { static_cast<absl::Notification*>(self)->Notify(); },
                &said_, &ignored);
            said_.WaitForNotification();
          }
          if (!closes) streams_.push_back(std::move(stream));
        });
  }
  const pipe::SocketAddress& address() const { return address_; }

 private:
  absl::Notification said_;
  std::vector<std::unique_ptr<pipe::Stream>> streams_;
  pipe::SocketAddress address_;
  std::unique_ptr<pipe::SocketListener> listener_;
};

TEST(SocketChannelTest, ACallToWhoSaysNothingEndsAtItsDeadline) {
  const RawServer silent("");
  const auto channel = ConnectTo(silent.address(), "the test", absl::Now() + kSoon);
  ASSERT_TRUE(channel.ok()) << channel.status();
  const absl::Time start = absl::Now();
  const grpc::Status status = Ask(**channel, start + absl::Milliseconds(300));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_LT(absl::Now() - start, absl::Seconds(2));
}

TEST(SocketChannelTest, ACallToWhoSpeaksOtherwiseOrClosesEndsAtOnce) {
  const RawServer garbage("HTTP/1.1 400 Bad Request\r\n\r\n"), closing("", true);
  for (const RawServer* server : {&garbage, &closing}) {
    const absl::Time start = absl::Now();
    const auto channel = ConnectTo(server->address(), "the test", start + kSoon);
    ASSERT_TRUE(channel.ok()) << channel.status();
    EXPECT_FALSE(Ask(**channel).ok());
    EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  }
}

TEST(SocketChannelTest, IsUnavailableWhereNobodyListensUntilItsDeadline) {
  const pipe::BoundSocket bound = pipe::BindLoopback();
  const absl::Time start = absl::Now();
  const auto channel = ConnectTo(bound.address, "C:/a.sock", start + absl::Milliseconds(300));
  EXPECT_TRUE(absl::IsUnavailable(channel.status())) << channel.status();
  EXPECT_THAT(std::string(channel.status().message()), HasSubstr("C:/a.sock"));
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(290));
  EXPECT_LT(absl::Now() - start, absl::Seconds(2));
}

TEST(SocketChannelTest, WaitsForAListener) {
  pipe::BoundSocket bound = pipe::BindLoopback();
  Service service;
  std::unique_ptr<SocketServer> server;
  std::thread starts([&] {
    absl::SleepFor(absl::Milliseconds(100));
    server = *ListenOn(std::move(bound.socket), AF_INET, std::nullopt, "the test", &service);
  });
  const auto channel = ConnectTo(bound.address, "the test", absl::Now() + kSoon);
  starts.join();
  ASSERT_TRUE(channel.ok()) << channel.status();
  EXPECT_TRUE(Ask(**channel).ok());
}

TEST(SocketChannelTest, EndsWithItsObjectAlsoWhileAWriteIsStuck) {
  const RawServer stuck(client::kWideOpen);
  auto channel = ConnectTo(stuck.address(), "the test", absl::Now() + kSoon);
  ASSERT_TRUE(channel.ok()) << channel.status();
  LongCall call((*channel)->channel(), 64 << 20);
  absl::SleepFor(absl::Milliseconds(200));
  EXPECT_FALSE(call.ended());
  channel->reset();
  EXPECT_EQ(call.Await().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(SocketChannelTest, AServerThatVanishesEndsTheCall) {
  auto server = std::make_unique<RawServer>(client::kWideOpen);
  auto channel = ConnectTo(server->address(), "the test", absl::Now() + kSoon);
  ASSERT_TRUE(channel.ok()) << channel.status();
  LongCall call((*channel)->channel());
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_FALSE(call.ended());
  server.reset();
  EXPECT_EQ(call.Await().error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace csi_proxy::sidecars
