// gRPC over Windows sockets, and Unix sockets' files. Most tests use TCP, because Wine 8 lacks Unix
// sockets.
#include "client/sidecars/socket_windows.h"
// Must follow winsock2.h.
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "client/cpp/misbehaving_server.h"
#include "client/grpc/loopback_testing.h"
#include "filesystem/v1alpha1/api.grpc.pb.h"
#include "server/machine/windows/testing_windows.h"
#include "server/pipe/object_security.h"

namespace csi_proxy::sidecars {
namespace {

using ::testing::HasSubstr;
using ::v1alpha1::Filesystem;

constexpr absl::Duration kSoon = absl::Seconds(10);

class Service final : public Filesystem::Service {
 public:
  grpc::Status PathExists(grpc::ServerContext*, const ::v1alpha1::PathExistsRequest*,
                          ::v1alpha1::PathExistsResponse* response) override {
    response->set_error(text);
    return grpc::Status::OK;
  }
  // Waits until the client has disconnected.
  grpc::Status Mkdir(grpc::ServerContext* context, const ::v1alpha1::MkdirRequest*,
                     ::v1alpha1::MkdirResponse*) override {
    ++waiting;
    while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(2));
    --waiting;
    return grpc::Status::CANCELLED;
  }

  std::string text = "4711";
  std::atomic<int> waiting = 0;
};

grpc::Status Ask(SocketChannel& channel, absl::Time deadline = absl::Now() + kSoon,
                 std::string* text = nullptr) {
  const auto stub = Filesystem::NewStub(channel.channel());
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(deadline));
  ::v1alpha1::PathExistsResponse response;
  const grpc::Status status = stub->PathExists(&context, {}, &response);
  if (text != nullptr) *text = response.error();
  return status;
}

// Returns true if the condition becomes true within kSoon.
template <typename Condition>
bool Soon(Condition condition) {
  const absl::Time give_up = absl::Now() + kSoon;
  while (!condition() && absl::Now() < give_up) absl::SleepFor(absl::Milliseconds(2));
  return condition();
}

// A call on its own thread. The server does not answer it.
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
    auto channel = ConnectTo(address_, "the test", SteadyTime::Now() + kSoon);
    EXPECT_TRUE(channel.ok()) << channel.status();
    return *std::move(channel);
  }

  Service service_;
  pipe::SocketAddress address_;
  std::unique_ptr<SocketServer> server_;
};

TEST_F(SocketTransportTest, AnswersBeyondTheSizeLimitFail) {
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

TEST_F(SocketTransportTest, ManyConcurrentConnectionsAreServed) {
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

TEST_F(SocketTransportTest, ADisconnectedClientsCallsAreCancelled) {
  auto channel = Connect();
  LongCall call(channel->channel());
  ASSERT_TRUE(Soon([&] { return service_.waiting == 1; }));
  channel.reset();
  EXPECT_EQ(call.Await().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(Soon([&] { return service_.waiting == 0; }));
  EXPECT_TRUE(Ask(*Connect()).ok()) << "others are served";
}

TEST_F(SocketTransportTest, AStopEndsRunningCalls) {
  const auto channel = Connect();
  LongCall call(channel->channel());
  ASSERT_TRUE(Soon([&] { return service_.waiting == 1; }));
  const SteadyTime start = SteadyTime::Now();
  server_.reset();
  EXPECT_LT(SteadyTime::Now() - start, absl::Seconds(2));
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

TEST_F(SocketTransportTest, AStopDoesNotWaitForAClientThatDoesNotRead) {
  service_.text = std::string(64 << 20, 'x');
  const pipe::Socket client = *pipe::Connect(address_, SteadyTime::Now() + kSoon);
  ASSERT_TRUE(pipe::SendAll(client, CallWithoutLimit()));
  // Part of the answer has arrived, and the buffers have no room for the rest.
  ASSERT_TRUE(Soon([&] {
    u_long bytes = 0;
    ioctlsocket(client.get(), static_cast<long>(FIONREAD), &bytes);
    return bytes > 10'000;
  }));
  absl::SleepFor(absl::Milliseconds(100));
  const SteadyTime start = SteadyTime::Now();
  server_.reset();
  EXPECT_LT(SteadyTime::Now() - start, absl::Seconds(2));
}

TEST_F(SocketTransportTest, ConnectionsLeakNoHandles) {
  const auto connect_and_leave = [&](int times) {
    for (int i = 0; i < times; ++i) {
      const auto channel = Connect();
      EXPECT_TRUE(Ask(*channel).ok());
      // Connects and disconnects, as the kubelet does to check that the file is a socket.
      EXPECT_TRUE(pipe::Connect(address_, SteadyTime::Now() + kSoon).ok());
    }
  };
  connect_and_leave(20);
  const machine::HandleWatch handles;
  connect_and_leave(300);
  EXPECT_TRUE(Soon([&] { return handles.Growth() < 100; })) << handles.Growth();
}

// Clients that connect and disconnect do not delay a stop, in any state.
TEST_F(SocketTransportTest, AStopIsPromptWhileClientsConnectAndDisconnect) {
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
        auto channel = ConnectTo(address, "the test", SteadyTime::Now() + absl::Milliseconds(20));
        if (!channel.ok()) continue;
        LongCall call((*channel)->channel());
        if (Ask(**channel).ok()) ++answers;
        // Destroys the channel while the long call is still under way.
        channel->reset();
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    absl::SleepFor(absl::Milliseconds(100));
    const SteadyTime start = SteadyTime::Now();
    server_.reset();
    EXPECT_LT(SteadyTime::Now() - start, absl::Seconds(5));
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

// Writes a text to each connection, and then closes the connection or keeps it open until the
// server's destruction.
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

TEST(SocketChannelTest, ACallToASilentServerEndsAtItsDeadline) {
  const RawServer silent("");
  const auto channel = ConnectTo(silent.address(), "the test", SteadyTime::Now() + kSoon);
  ASSERT_TRUE(channel.ok()) << channel.status();
  const SteadyTime start = SteadyTime::Now();
  const grpc::Status status = Ask(**channel, absl::Now() + absl::Milliseconds(300));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_LT(SteadyTime::Now() - start, absl::Seconds(2));
}

TEST(SocketChannelTest, ACallFailsEarlyIfTheServerSendsGarbageOrCloses) {
  const RawServer garbage("HTTP/1.1 400 Bad Request\r\n\r\n"), closing("", true);
  for (const RawServer* server : {&garbage, &closing}) {
    const SteadyTime start = SteadyTime::Now();
    const auto channel = ConnectTo(server->address(), "the test", start + kSoon);
    ASSERT_TRUE(channel.ok()) << channel.status();
    EXPECT_FALSE(Ask(**channel).ok());
    EXPECT_LT(SteadyTime::Now() - start, absl::Seconds(5));
  }
}

TEST(SocketChannelTest, ConnectIsUnavailableIfNoServerListensByTheDeadline) {
  const pipe::BoundSocket bound = pipe::BindLoopback();
  const SteadyTime start = SteadyTime::Now();
  const auto channel = ConnectTo(bound.address, "C:/a.sock", start + absl::Milliseconds(300));
  EXPECT_TRUE(absl::IsUnavailable(channel.status())) << channel.status();
  EXPECT_THAT(std::string(channel.status().message()), HasSubstr("C:/a.sock"));
  EXPECT_GE(SteadyTime::Now() - start, absl::Milliseconds(290));
  EXPECT_LT(SteadyTime::Now() - start, absl::Seconds(2));
}

TEST(SocketChannelTest, ConnectWaitsForAListener) {
  pipe::BoundSocket bound = pipe::BindLoopback();
  Service service;
  std::unique_ptr<SocketServer> server;
  std::thread starts([&] {
    absl::SleepFor(absl::Milliseconds(100));
    server = *ListenOn(std::move(bound.socket), AF_INET, std::nullopt, "the test", &service);
  });
  const auto channel = ConnectTo(bound.address, "the test", SteadyTime::Now() + kSoon);
  starts.join();
  ASSERT_TRUE(channel.ok()) << channel.status();
  EXPECT_TRUE(Ask(**channel).ok());
}

TEST(SocketChannelTest, ADestroyedChannelEndsACallWhoseWriteIsStuck) {
  const RawServer stuck(client::kWideOpen);
  auto channel = ConnectTo(stuck.address(), "the test", SteadyTime::Now() + kSoon);
  ASSERT_TRUE(channel.ok()) << channel.status();
  LongCall call((*channel)->channel(), 64 << 20);
  absl::SleepFor(absl::Milliseconds(200));
  EXPECT_FALSE(call.ended());
  channel->reset();
  EXPECT_EQ(call.Await().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(SocketChannelTest, ADestroyedServerEndsTheCall) {
  auto server = std::make_unique<RawServer>(client::kWideOpen);
  auto channel = ConnectTo(server->address(), "the test", SteadyTime::Now() + kSoon);
  ASSERT_TRUE(channel.ok()) << channel.status();
  LongCall call((*channel)->channel());
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_FALSE(call.ended());
  server.reset();
  EXPECT_EQ(call.Await().error_code(), grpc::StatusCode::UNAVAILABLE);
}

class SocketFileTest : public testing::Test {
 protected:
  SocketFileTest() {
    wchar_t directory[MAX_PATH + 1];
    GetTempPathW(MAX_PATH + 1, directory);
    static int next = 0;
    path_ = absl::StrCat(win32::Utf8(directory), "csi-", GetCurrentProcessId(), "-", next++, "é");
  }
  ~SocketFileTest() override {
    for (const std::string& path : {path_, other()}) DeleteFileW(win32::Utf16(path).c_str());
  }
  std::string other() const { return path_ + "-other"; }
  static void Make(const std::string& path) {
    const win32::UniqueHandle file(
        CreateFileW(win32::Utf16(path).c_str(), GENERIC_WRITE, 0, nullptr, CREATE_NEW, 0, nullptr));
    ASSERT_TRUE(file.valid()) << path;
  }
  static bool Exists(const std::string& path) {
    return GetFileAttributesW(win32::Utf16(path).c_str()) != INVALID_FILE_ATTRIBUTES;
  }

  std::string path_;
};

TEST_F(SocketFileTest, RemovingAMissingSocketSucceeds) {
  for (const std::string& path : {path_, path_ + "/below"}) {
    EXPECT_EQ(*SocketExists(path), false);
    EXPECT_TRUE(RemoveSocket(path).ok());
  }
}

TEST_F(SocketFileTest, AFileThatIsNotASocketIsRefusedAndKept) {
  Make(path_);
  wchar_t directory[MAX_PATH + 1];
  GetTempPathW(MAX_PATH + 1, directory);
  for (const std::string& path : {path_, win32::Utf8(directory)}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(SocketExists(path).status())) << path;
    EXPECT_TRUE(absl::IsFailedPrecondition(RemoveSocket(path))) << path;
    EXPECT_TRUE(Exists(path));
  }
}

TEST_F(SocketFileTest, RemoveKeepsAFileThatReplacedTheSocket) {
  Make(path_);
  const auto file = ProtectSocket(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->in_place().value());
  // Creates the new file before the old file is deleted, so that the ids differ.
  Make(other());
  ASSERT_TRUE(MoveFileExW(win32::Utf16(other()).c_str(), win32::Utf16(path_).c_str(),
                          MOVEFILE_REPLACE_EXISTING));
  EXPECT_FALSE(file->in_place().value());
  EXPECT_TRUE(file->Remove().ok());
  EXPECT_TRUE(Exists(path_));
}

TEST_F(SocketFileTest, RemoveDeletesTheSocketWhileAnotherProgramHasItOpen) {
  Make(path_);
  const auto file = ProtectSocket(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  // Another program, for example a scanner, has the file open. Wine 8 would wait for it.
  win32::UniqueHandle open(CreateFileW(win32::Utf16(path_).c_str(), GENERIC_READ,
                                       FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr, OPEN_EXISTING,
                                       0, nullptr));
  if (machine::IsWine()) open.Reset();
  EXPECT_TRUE(file->Remove().ok());
  EXPECT_FALSE(file->in_place().value());
  EXPECT_TRUE(file->Remove().ok());
}

TEST_F(SocketFileTest, TheAccessListOfTheSocketNamesNoBroadGroup) {
  Make(path_);
  ASSERT_TRUE(ProtectSocket(path_).ok());
  const win32::UniqueHandle file(CreateFileW(win32::Utf16(path_).c_str(), READ_CONTROL, 0, nullptr,
                                             OPEN_EXISTING, 0, nullptr));
  ASSERT_TRUE(file.valid());
  const auto security = pipe::SecurityOf(file.get());
  ASSERT_TRUE(security.ok()) << security.status();
  ASSERT_TRUE(security->has_dacl);
  EXPECT_FALSE(security->dacl.empty());
  for (const pipe::AccessEntry& entry : security->dacl) {
    // The SIDs of Everyone, Authenticated Users and Users.
    for (const char* many : {"S-1-1-0", "S-1-5-11", "S-1-5-32-545"}) EXPECT_NE(entry.sid, many);
  }
}

// --- Unix sockets ---

class UnixSocketTest : public SocketFileTest {
 protected:
  void SetUp() override {
    const pipe::Socket socket(WSASocketW(AF_UNIX, SOCK_STREAM, 0, nullptr, 0, 0));
    if (!socket.valid()) GTEST_SKIP() << "there are none here";
  }
  Service service_;
};

TEST_F(UnixSocketTest, TheSocketIsServedAndThenRemoved) {
  {
    const auto server = SocketServer::Listen(path_, &service_);
    ASSERT_TRUE(server.ok()) << server.status();
    EXPECT_TRUE((*server)->in_place().value());
    EXPECT_EQ(*SocketExists(path_), true);
    const auto channel = SocketChannel::Connect(path_, SteadyTime::Now() + kSoon);
    ASSERT_TRUE(channel.ok()) << channel.status();
    EXPECT_TRUE(Ask(**channel).ok());
    EXPECT_TRUE(absl::IsUnavailable(SocketServer::Listen(path_, &service_).status()));
  }
  EXPECT_FALSE(Exists(path_));
}

TEST_F(UnixSocketTest, DestroyingAServerKeepsAnotherServersSocket) {
  auto first = SocketServer::Listen(path_, &service_);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(RemoveSocket(path_).ok());
  EXPECT_FALSE((*first)->in_place().value());
  const auto second = SocketServer::Listen(path_, &service_);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_FALSE((*first)->in_place().value());
  first->reset();
  EXPECT_TRUE((*second)->in_place().value());
}

}  // namespace
}  // namespace csi_proxy::sidecars
