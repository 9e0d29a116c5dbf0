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
#include "server/rpc/testing_posix.h"
#include "server/rpc/unix_listener_posix.h"

namespace csi_proxy::rpc {
namespace {

// Listens on one pipe and keeps the connections that it is handed.
class UnixListenerTest : public testing::Test {
 protected:
  void Start(ListenerLimits limits) {
    listener_ = NewListener({.socket_dir = directory_.path()}, limits);
    ASSERT_TRUE(listener_
                    ->Listen({{.name = "pipe",
                               .serve =
                                   [this](std::unique_ptr<ReadyConnection> ready, bool) {
                                     std::lock_guard lock(mutex_);
                                     adopted_.push_back(
                                         std::move(static_cast<ReadySocket&>(*ready).socket));
                                   }}})
                    .ok());
  }

  UniqueFd Connect() { return ConnectUnix(directory_.path() + "/pipe.sock"); }

  size_t adopted() {
    std::lock_guard lock(mutex_);
    return adopted_.size();
  }

  void CallBeginsOn(size_t adopted) {
    listener_->connections().Find("fd:" + std::to_string(adopted_[adopted].get()))->BeginCall();
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
  std::mutex mutex_;
  std::vector<UniqueFd> adopted_;
  std::unique_ptr<Listener> listener_;
};

TEST_F(UnixListenerTest, HandsOverAConnectionWithItsPrefaceUnread) {
  Start({});
  const UniqueFd client = Connect();
  Send(client, kHttp2Preface);
  Send(client, "rest");
  ASSERT_TRUE(Eventually([&] { return adopted() == 1; }));
  std::string received(kHttp2Preface.size() + 4, '\0');
  ASSERT_TRUE(Eventually([&] {
    return recv(adopted_[0].get(), received.data(), received.size(), MSG_PEEK) ==
           static_cast<ssize_t>(received.size());
  }));
  EXPECT_EQ(received, std::string(kHttp2Preface) + "rest");
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

TEST_F(UnixListenerTest, NoticesTheEndOfAnAdoptedConnectionFromEitherSide) {
  Start({});
  UniqueFd by_client = Connect();
  Send(by_client, kHttp2Preface);
  ASSERT_TRUE(Eventually([&] { return adopted() == 1; }));
  const UniqueFd by_server = Connect();
  Send(by_server, kHttp2Preface);
  ASSERT_TRUE(Eventually([&] { return adopted() == 2; }));
  EXPECT_EQ(listener_->connections().counters().live, 2u);
  by_client.Reset();
  EXPECT_TRUE(Eventually([&] { return listener_->connections().counters().live == 1; }));
  shutdown(adopted_[1].get(), SHUT_RDWR);  // as gRPC does before it closes
  adopted_[1].Reset();
  EXPECT_TRUE(Eventually([&] { return listener_->connections().counters().live == 0; }));
  EXPECT_TRUE(ClosedWithin(by_server.get(), 5)) << "the duplicate must not keep it open";
}

TEST_F(UnixListenerTest, KnowsTheProcessBehindAConnection) {
  Start({});
  UniqueFd client = Connect();
  Send(client, kHttp2Preface);
  ASSERT_TRUE(Eventually([&] { return adopted() == 1; }));
  const std::string address = "fd:" + std::to_string(adopted_[0].get());
  const auto connection = listener_->connections().Find(address);
  ASSERT_NE(connection, nullptr);
  const Peer& peer = connection->client()->peer;
  EXPECT_EQ(peer.process_id, getpid());
  EXPECT_NE(peer.image_path.find("rpc_test"), std::string::npos) << peer.image_path;
  client.Reset();
  EXPECT_TRUE(Eventually([&] { return listener_->connections().Find(address) == nullptr; }));
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
  CallBeginsOn(0);
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
    CallBeginsOn(i);
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
  CallBeginsOn(0);
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
  char byte;
  EXPECT_EQ(recv(clients[0].get(), &byte, 1, MSG_DONTWAIT), -1) << "a call is under way on it";
}

}  // namespace
}  // namespace csi_proxy::rpc
