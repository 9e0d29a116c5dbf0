#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/rpc/pipe/pipe.h"
#include "server/rpc/pipe/testing/leaky_clients.h"
#include "server/rpc/pipe_listener_windows.h"

namespace csi_proxy::rpc {
namespace {

using testing::HasSubstr;

constexpr char kOpenToAll[] = "D:P(A;;GA;;;WD)";

// Returns true if `condition` comes true within five seconds.
template <typename Condition>
bool Eventually(Condition condition) {
  const absl::Time give_up = absl::Now() + absl::Seconds(5);
  while (!condition()) {
    if (absl::Now() > give_up) return false;
    absl::SleepFor(absl::Milliseconds(2));
  }
  return true;
}

// A client's end. Reads and writes block the caller.
class Client {
 public:
  explicit Client(const std::string& path)
      : handle_(CreateFileW(win32::Utf16(path).c_str(), GENERIC_READ | GENERIC_WRITE, 0, nullptr,
                            OPEN_EXISTING, 0, nullptr)) {}
  bool connected() const { return handle_.valid(); }
  bool Send(absl::string_view data) {
    DWORD written = 0;
    return WriteFile(handle_.get(), data.data(), static_cast<DWORD>(data.size()), &written,
                     nullptr) &&
           written == data.size();
  }
  // Blocks until the server sends something or ends the connection; returns the error that ended
  // it.
  DWORD Read(std::string* received) {
    received->resize(64);
    DWORD read = 0;
    const BOOL ok = ReadFile(handle_.get(), received->data(), static_cast<DWORD>(received->size()),
                             &read, nullptr);
    received->resize(read);
    return ok ? ERROR_SUCCESS : GetLastError();
  }
  // Blocks until the server has disconnected this end. An end that is only closed would keep the
  // pipe's name for as long as this client lives.
  bool Disconnected() {
    std::string received;
    return Read(&received) == ERROR_PIPE_NOT_CONNECTED;
  }

 private:
  win32::UniqueHandle handle_;
};

class PipeListenerTest : public testing::Test {
 protected:
  PipeListenerTest() {
    static int next = 0;
    name_ = absl::StrCat("csi-proxy-test-", GetCurrentProcessId(), "-listener-", next++);
  }

  void Start(ListenerLimits limits) {
    listener_ = NewListener({.socket_dir = "", .sddl = kOpenToAll}, limits);
    const absl::Status status = listener_->Listen(
        {{.name = name_, .serve = [this](std::unique_ptr<ReadyConnection> ready, bool) {
            std::lock_guard lock(mutex_);
            adopted_.push_back(std::move(static_cast<ReadyPipe&>(*ready).connection));
          }}});
    ASSERT_TRUE(status.ok()) << status;
  }
  ~PipeListenerTest() override { CloseAdopted(); }

  void CloseAdopted() {
    std::lock_guard lock(mutex_);
    for (pipe::Connection& connection : adopted_) {
      connection.stream.reset();
      connection.closed();
    }
    adopted_.clear();
  }
  size_t adopted() {
    std::lock_guard lock(mutex_);
    return adopted_.size();
  }
  Client Dial() {
    for (int i = 0; i < 500; ++i) {
      Client client(pipe::Path(name_));
      if (client.connected()) return client;
      absl::SleepFor(absl::Milliseconds(10));
    }
    return Client(pipe::Path(name_));
  }
  // Sends an answer to the first client, which begins HTTP/2.
  void Answer(Client& client) {
    ASSERT_TRUE(client.Send(kHttp2Preface));
    ASSERT_TRUE(Eventually([&] { return adopted() == 1; }));
    pipe::Stream::Result result;
    ASSERT_TRUE(adopted_.front().stream->Write(
        "answer", 6, [](void*, DWORD, DWORD) {}, nullptr, &result));
    ASSERT_EQ(result.bytes, 6u);
  }

  std::string name_;
  std::unique_ptr<Listener> listener_;
  std::mutex mutex_;
  std::list<pipe::Connection> adopted_;
};

TEST_F(PipeListenerTest, AConnectionThatSpeaksHttp2IsAdoptedWithItsFirstBytesAndPeer) {
  Start({});
  Client client = Dial();
  ASSERT_TRUE(client.connected());
  ASSERT_TRUE(client.Send(kHttp2Preface));
  ASSERT_TRUE(Eventually([&] { return adopted() == 1; }));
  EXPECT_EQ(adopted_.front().received, kHttp2Preface);
  const auto connection = listener_->connections().Find(adopted_.front().name);
  ASSERT_NE(connection, nullptr);
  EXPECT_EQ(connection->client()->peer.process_id, GetCurrentProcessId());
  EXPECT_THAT(connection->client()->peer.image_path, HasSubstr("rpc_test"));
  EXPECT_EQ(listener_->connections().counters().live, 1u);
  const std::string name = adopted_.front().name;
  CloseAdopted();
  EXPECT_EQ(listener_->connections().counters().live, 0u);
  EXPECT_EQ(listener_->connections().Find(name), nullptr);
}

TEST_F(PipeListenerTest, APrefaceInPiecesIsPutTogether) {
  Start({});
  Client client = Dial();
  for (const char byte : kHttp2Preface) {
    ASSERT_EQ(adopted(), 0u);
    ASSERT_TRUE(client.Send(absl::string_view(&byte, 1)));
  }
  ASSERT_TRUE(Eventually([&] { return adopted() == 1; }));
  EXPECT_EQ(adopted_.front().received, kHttp2Preface);
}

TEST_F(PipeListenerTest, ASilentConnectionIsDisconnectedAtItsDeadline) {
  Start({.preface_timeout = absl::Milliseconds(200)});
  Client client = Dial();
  const absl::Time start = absl::Now();
  EXPECT_TRUE(client.Disconnected());
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(150));
  EXPECT_TRUE(Eventually([&] { return listener_->connections().counters().dropped_silent == 1; }));
  EXPECT_EQ(listener_->connections().counters().silent, 0u);
}

TEST_F(PipeListenerTest, GarbageIsDisconnectedAtOnce) {
  Start({});
  Client client = Dial();
  ASSERT_TRUE(client.Send("GET / HTTP/1.1\r\n"));
  EXPECT_TRUE(client.Disconnected());
  EXPECT_TRUE(Eventually([&] { return listener_->connections().counters().dropped_garbage == 1; }));
  EXPECT_EQ(adopted(), 0u);
}

TEST_F(PipeListenerTest, ManyClientsAtOnceAllGetIn) {
  Start({});
  std::vector<std::thread> threads;
  std::atomic<int> connected = 0;
  std::mutex mutex;
  std::list<Client> clients;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 25; ++n) {
        Client client = Dial();
        if (client.connected() && client.Send(kHttp2Preface)) ++connected;
        std::lock_guard lock(mutex);
        clients.push_back(std::move(client));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(connected, 200);
  EXPECT_TRUE(Eventually([&] { return adopted() == 200; }));
}

TEST_F(PipeListenerTest, AtTheLimitTheOldestSilentConnectionMakesRoom) {
  Start({.max_connections = 2, .client_share = 100});
  Client first = Dial();
  ASSERT_TRUE(Eventually([&] { return listener_->connections().counters().silent == 1; }));
  Client second = Dial();
  ASSERT_TRUE(Eventually([&] { return listener_->connections().counters().silent == 2; }));
  Client third = Dial();
  EXPECT_TRUE(first.Disconnected());
  ASSERT_TRUE(third.Send(kHttp2Preface));
  ASSERT_TRUE(second.Send(kHttp2Preface));
  EXPECT_TRUE(Eventually([&] { return adopted() == 2; }));
  EXPECT_EQ(listener_->connections().counters().dropped_for_room, 1u);
}

TEST_F(PipeListenerTest, AtTheLimitAConnectionWithoutACallMakesRoomForANewOne) {
  Start({.max_connections = 2, .client_share = 100});
  Client first = Dial();
  ASSERT_TRUE(first.Send(kHttp2Preface));
  ASSERT_TRUE(Eventually([&] { return adopted() == 1; }));
  listener_->connections().Find(adopted_.front().name)->BeginCall();
  Client second = Dial();
  ASSERT_TRUE(second.Send(kHttp2Preface));
  ASSERT_TRUE(Eventually([&] { return adopted() == 2; }));
  Client third = Dial();
  ASSERT_TRUE(Eventually([&] { return listener_->connections().counters().ended_for_room == 1; }));
  ASSERT_TRUE(third.Send(kHttp2Preface));
  ASSERT_TRUE(Eventually([&] { return adopted() == 3; }));
  listener_->connections().Find(adopted_.back().name)->BeginCall();
  // Calls are under way on all, so the new connection is closed.
  Client fourth = Dial();
  EXPECT_TRUE(fourth.Disconnected());
  EXPECT_EQ(listener_->connections().counters().dropped_for_room, 1u);
}

TEST_F(PipeListenerTest, ASecondServerIsRefused) {
  Start({});
  const auto second = NewListener({.socket_dir = "", .sddl = kOpenToAll}, {});
  const absl::Status status =
      second->Listen({{.name = name_, .serve = [](std::unique_ptr<ReadyConnection>, bool) {}}});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(name_));
}

TEST_F(PipeListenerTest, StopDisconnectsSilentConnectionsAndFreesTheName) {
  Start({});
  Client client = Dial();
  ASSERT_TRUE(Eventually([&] { return listener_->connections().counters().silent == 1; }));
  listener_->Stop();
  EXPECT_TRUE(client.Disconnected());
  EXPECT_FALSE(pipe::Exists(pipe::Path(name_)));
  listener_.reset();
  Start({});
}

TEST_F(PipeListenerTest, AnswersThatAreWrittenBeforeTheEndAreRead) {
  Start({});
  Client client = Dial();
  ASSERT_NO_FATAL_FAILURE(Answer(client));
  listener_->Stop();
  std::thread stop([&] { listener_->CloseLive(); });
  absl::SleepFor(absl::Milliseconds(200));
  std::string received;
  EXPECT_EQ(client.Read(&received), DWORD{ERROR_SUCCESS});
  EXPECT_EQ(received, "answer");
  EXPECT_TRUE(client.Disconnected());
  stop.join();
}

// The connection ends although gRPC, here this test, still holds it.
TEST_F(PipeListenerTest, AClientThatDoesNotReadIsDisconnectedByTheEndOfCloseLive) {
  Start({});
  Client client = Dial();
  ASSERT_NO_FATAL_FAILURE(Answer(client));
  listener_->Stop();
  const absl::Time start = absl::Now();
  listener_->CloseLive();
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  EXPECT_TRUE(client.Disconnected());
}

TEST_F(PipeListenerTest, TheDefaultIsThatOfTheModel) {
  const auto calls = pipe::NewPipeCalls(
      *pipe::Security::Parse(pipe::SddlForServer(PipePlace().sddl, false, kSystemSid)));
  ASSERT_TRUE(calls.ok()) << calls.status();
  EXPECT_EQ((*calls)->ours().owner, pipe::kOurs.owner);
  EXPECT_EQ((*calls)->ours().dacl, pipe::kOurs.dacl);
}

TEST_F(PipeListenerTest, ByDefaultThisProcessServesAndOpensItsPipe) {
  const auto listener = NewListener(PipePlace(), {});
  const absl::Status status =
      listener->Listen({{.name = name_, .serve = [](std::unique_ptr<ReadyConnection>, bool) {}}});
  ASSERT_TRUE(status.ok()) << status;
  const Client client = Dial();
  EXPECT_TRUE(client.connected());
}

TEST_F(PipeListenerTest, BadSecurityIsAnErrorOfItsFlag) {
  const auto listener = NewListener({.socket_dir = "", .sddl = "D:(A;;GA;;;WD)"}, {});
  const absl::Status status =
      listener->Listen({{.name = name_, .serve = [](std::unique_ptr<ReadyConnection>, bool) {}}});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

}  // namespace
}  // namespace csi_proxy::rpc
