#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "server/rpc/http2_frames_testing.h"
#include "server/rpc/listener.h"
#include "server/rpc/preface.h"
#include "server/rpc/testing_posix.h"

namespace csi_proxy::rpc {
namespace {

// Keeps the calls that it gets.
class Keeper final : public RemoteService {
 public:
  bool Has(absl::string_view path) const override { return path == "/keep"; }
  void Begin(RemoteCall call) override {
    call.served->BeginCall();
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
  }
  std::vector<RemoteCall> TakeAll() {
    const std::lock_guard lock(mutex_);
    return std::exchange(calls_, {});
  }
  size_t calls() {
    const std::lock_guard lock(mutex_);
    return calls_.size();
  }

 private:
  std::mutex mutex_;
  std::vector<RemoteCall> calls_;
};

class UnixListenerTest : public testing::Test {
 protected:
  void Start(ListenerLimits limits) {
    listener_ = NewListener({.socket_dir = directory_.path()}, limits);
    auto keeper = std::make_unique<Keeper>();
    keeper_ = keeper.get();
    server_ = std::make_shared<PipeServer>("pipe", "v1.Pipe", std::move(keeper), ServerLimits());
    ASSERT_TRUE(listener_->Listen({server_}).ok());
  }
  ~UnixListenerTest() override {
    if (listener_ == nullptr) return;
    listener_->Stop();
    listener_->CloseLive();
    keeper_->TakeAll();
  }

  UniqueFd Connect() { return ConnectUnix(directory_.path() + "/pipe.sock"); }

  size_t adopted() { return listener_->connections().counters().adopted; }
  size_t live() { return listener_->connections().counters().live; }

  // Begins a call, which the keeper keeps, on a connection that has sent its preface.
  void BeginCall(const UniqueFd& fd) {
    const size_t before = keeper_->calls();
    const std::string headers =
        Literal(":method", "POST") + Literal(":path", "/keep") +
        Literal("content-type", "application/grpc");
    Send(fd, Frame(kSettings, 0, 0, "") + Frame(kHeaders, kEndHeaders, 1, headers) +
                 Frame(kData, kEndStream, 1, std::string(5, '\0')));
    ASSERT_TRUE(Eventually([&] { return keeper_->calls() == before + 1; }));
  }

  // Waits until another thread makes `condition` true.
  template <typename Condition>
  static bool Eventually(Condition condition) {
    for (int i = 0; i < 500; ++i) {
      if (condition()) return true;
      absl::SleepFor(absl::Milliseconds(10));
    }
    return false;
  }

  static void Send(const UniqueFd& fd, absl::string_view bytes) {
    ASSERT_EQ(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  TemporaryDirectory directory_;
  Keeper* keeper_ = nullptr;
  std::shared_ptr<PipeServer> server_;
  std::unique_ptr<Listener> listener_;
};

TEST_F(UnixListenerTest, ServesWhatComesWithThePreface) {
  Start({});
  const UniqueFd client = Connect();
  Send(client, kHttp2Preface);
  BeginCall(client);
  EXPECT_EQ(keeper_->TakeAll().front().request.path, "/keep");
}

TEST_F(UnixListenerTest, TakesAPrefaceThatArrivesByteByByte) {
  Start({});
  const UniqueFd client = Connect();
  for (const char c : kHttp2Preface) {
    EXPECT_EQ(adopted(), 0u);
    Send(client, absl::string_view(&c, 1));
    absl::SleepFor(absl::Milliseconds(2));
  }
  EXPECT_TRUE(Eventually([&] { return adopted() == 1; }));
}

TEST_F(UnixListenerTest, ClosesGarbageAtOnce) {
  Start({.preface_timeout = absl::Hours(1)});
  const UniqueFd client = Connect();
  Send(client, "GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(ClosedWithin(client.get(), 5));
  EXPECT_TRUE(Eventually([&] { return listener_->connections().counters().dropped_garbage == 1; }));
  EXPECT_EQ(adopted(), 0u);
}

TEST_F(UnixListenerTest, ClosesASilentAndAHalfPrefaceAtTheDeadline) {
  Start({.preface_timeout = absl::Milliseconds(200)});
  const UniqueFd silent = Connect();
  const UniqueFd half = Connect();
  Send(half, kHttp2Preface.substr(0, 10));
  EXPECT_TRUE(ClosedWithin(silent.get(), 5));
  EXPECT_TRUE(ClosedWithin(half.get(), 5));
  EXPECT_TRUE(Eventually([&] { return listener_->connections().counters().dropped_silent == 2; }));
  EXPECT_EQ(listener_->connections().counters().silent, 0u);
}

TEST_F(UnixListenerTest, NoticesTheEndOfAServedConnectionFromEitherSide) {
  Start({});
  UniqueFd by_client = Connect();
  Send(by_client, kHttp2Preface);
  const UniqueFd by_server = Connect();
  Send(by_server, kHttp2Preface);
  ASSERT_TRUE(Eventually([&] { return live() == 2; }));
  BeginCall(by_server);
  by_client.Reset();
  EXPECT_TRUE(Eventually([&] { return live() == 1; }));
  keeper_->TakeAll().front().connection->HangUp();
  EXPECT_TRUE(Eventually([&] { return live() == 0; }));
}

TEST_F(UnixListenerTest, KnowsTheProcessBehindAConnection) {
  Start({});
  const UniqueFd client = Connect();
  Send(client, kHttp2Preface);
  BeginCall(client);
  const Peer peer = keeper_->TakeAll().front().served->client()->peer;
  EXPECT_EQ(peer.process_id, getpid());
  EXPECT_NE(peer.image_path.find("rpc_test"), std::string::npos) << peer.image_path;
}

TEST_F(UnixListenerTest, AConnectionThatBreaksTheProtocolIsCounted) {
  Start({});
  const UniqueFd client = Connect();
  Send(client, kHttp2Preface);
  Send(client, Frame(kSettings, 0, 0, "") + Frame(kPushPromise, kEndHeaders, 1, "    "));
  EXPECT_TRUE(Eventually([&] { return live() == 0 && adopted() == 1; }));
  EXPECT_EQ(listener_->connections().counters().violations[static_cast<size_t>(
                Http2Violation::kPush)],
            1u);
}

TEST_F(UnixListenerTest, AnIdleConnectionGoesAway) {
  Start({.idle_timeout = absl::Milliseconds(100)});
  const UniqueFd client = Connect();
  Send(client, std::string(kHttp2Preface) + Frame(kSettings, 0, 0, ""));
  EXPECT_TRUE(Eventually([&] { return adopted() == 1 && live() == 0; }));
}

TEST_F(UnixListenerTest, AtTheLimitTheOldestSilentOneMakesRoom) {
  Start({.preface_timeout = absl::Hours(1), .max_connections = 3, .client_share = 100});
  UniqueFd first = Connect();
  ASSERT_TRUE(Eventually([&] { return listener_->connections().counters().silent == 1; }));
  const UniqueFd second = Connect();
  const UniqueFd third = Connect();
  ASSERT_TRUE(Eventually([&] { return listener_->connections().counters().silent == 3; }));
  const UniqueFd fourth = Connect();
  EXPECT_TRUE(ClosedWithin(first.get(), 5));
  Send(fourth, kHttp2Preface);
  EXPECT_TRUE(Eventually([&] { return adopted() == 1; }));
}

TEST_F(UnixListenerTest, AtTheLimitAConnectionWithoutACallMakesRoomForANewOne) {
  Start({.max_connections = 2, .client_share = 100});
  const UniqueFd first = Connect();
  Send(first, kHttp2Preface);
  ASSERT_TRUE(Eventually([&] { return adopted() == 1; }));
  BeginCall(first);
  const UniqueFd second = Connect();
  Send(second, kHttp2Preface);
  ASSERT_TRUE(Eventually([&] { return adopted() == 2; }));
  const UniqueFd third = Connect();
  EXPECT_TRUE(ClosedWithin(second.get(), 5));
  Send(third, kHttp2Preface);
  ASSERT_TRUE(Eventually([&] { return adopted() == 3; }));
  EXPECT_TRUE(Eventually([&] { return listener_->connections().counters().live == 2; }));
  EXPECT_EQ(listener_->connections().counters().ended_for_room, 1u);
}

TEST_F(UnixListenerTest, AtTheLimitWithCallsOnAllTheNewOneIsClosed) {
  Start({.max_connections = 2, .client_share = 100});
  std::vector<UniqueFd> clients;
  for (size_t i = 0; i < 2; ++i) {
    clients.push_back(Connect());
    Send(clients.back(), kHttp2Preface);
    ASSERT_TRUE(Eventually([&] { return adopted() == i + 1; }));
    BeginCall(clients.back());
  }
  UniqueFd third = Connect();
  EXPECT_TRUE(ClosedWithin(third.get(), 5));
  EXPECT_EQ(listener_->connections().counters().live, 2u);
  EXPECT_EQ(listener_->connections().counters().dropped_for_room, 1u);
}

TEST_F(UnixListenerTest, StopClosesTheSilentAndRemovesTheSocket) {
  Start({.preface_timeout = absl::Hours(1)});
  const UniqueFd silent = Connect();
  ASSERT_TRUE(Eventually([&] { return listener_->connections().counters().silent == 1; }));
  listener_->Stop();
  EXPECT_TRUE(ClosedWithin(silent.get(), 5));
  EXPECT_FALSE(Connect().valid());
}

TEST_F(UnixListenerTest, OutOfDescriptorsTheSilentMakeRoomForNewOnes) {
  Start({.preface_timeout = absl::Hours(1), .max_connections = 10000});
  rlimit old_limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old_limit), 0);
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 50; ++i) clients.push_back(Connect());
  ASSERT_TRUE(Eventually([&] { return listener_->connections().counters().silent == 50; }));
  // Both ends live in this process: leave room for two more descriptors, this side's.
  UniqueFd one(socket(AF_UNIX, SOCK_STREAM, 0));
  UniqueFd two(socket(AF_UNIX, SOCK_STREAM, 0));
  const rlim_t in_use = static_cast<rlim_t>(two.get()) + 1;
  rlimit tight = old_limit;
  tight.rlim_cur = in_use;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  one.Reset();
  const UniqueFd late = Connect();
  EXPECT_TRUE(late.valid());
  EXPECT_TRUE(Eventually([&] { return listener_->connections().counters().dropped_for_room > 0; }));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old_limit), 0);
  EXPECT_TRUE(ClosedWithin(clients[0].get(), 5));
}

TEST_F(UnixListenerTest, ShortOfDescriptorsTheIdleMakeRoomForNewOnes) {
  Start({.max_connections = 10000});
  std::vector<UniqueFd> clients;
  for (size_t i = 0; i < 20; ++i) {
    clients.push_back(Connect());
    Send(clients.back(), kHttp2Preface);
    ASSERT_TRUE(Eventually([&] { return adopted() == i + 1; }));
  }
  BeginCall(clients[0]);
  rlimit old_limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old_limit), 0);
  rlimit tight = old_limit;
  tight.rlim_cur = static_cast<rlim_t>(UniqueFd(dup(0)).get()) + 20;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  const UniqueFd late = Connect();
  Send(late, kHttp2Preface);
  EXPECT_TRUE(Eventually([&] { return adopted() == 21; })) << "it is served";
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old_limit), 0);
  EXPECT_TRUE(ClosedWithin(clients[1].get(), 5));
  EXPECT_GE(listener_->connections().counters().ended_for_room, 1u);
  EXPECT_EQ(keeper_->calls(), 1u);
  EXPECT_FALSE(ClosedWithin(clients[0].get(), 1)) << "a call is under way on it";
}

}  // namespace
}  // namespace csi_proxy::rpc
