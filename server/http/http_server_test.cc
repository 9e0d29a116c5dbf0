#include "server/http/http_server.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/http/http_testing.h"

namespace csi_proxy {
namespace {

using http_testing::Answer;
using http_testing::Get;
using http_testing::HttpConnection;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kAsk[] = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
// A second client address; HttpConnection and Get() use 127.0.0.1.
constexpr char kOther[] = "127.0.0.2";
constexpr int kMaxConnections = HttpLimits().connections;

class HttpServerTest : public testing::Test {
 protected:
  // The long default keeps a busy machine from failing tests that do not concern the patience.
  void Listen(const HostPort& endpoint = {.host = "127.0.0.1", .port = 0},
              absl::Duration patience = absl::Hours(1)) {
    auto server =
        HttpServer::Listen(endpoint, {{"/healthz", [this] { return handler_(); }}}, patience);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    port_ = server_->port();
  }

  // Opens `count` connections from kOther and sends `text` on each.
  std::vector<std::unique_ptr<HttpConnection>> Many(int count, const std::string& text) const {
    std::vector<std::unique_ptr<HttpConnection>> connections;
    for (int i = 0; i < count; ++i) {
      connections.push_back(std::make_unique<HttpConnection>(port_, kOther));
      connections.back()->Send(text);
    }
    return connections;
  }

  HttpHandler handler_ = Healthy;
  std::unique_ptr<HttpServer> server_;
  int port_ = 0;
};

TEST_F(HttpServerTest, PathsMatchExactlyAndForAnyMethod) {
  Listen();
  for (const char* path : {"/healthz", "/healthz?verbose", "/healthz?"}) {
    const Answer answer = Get(port_, path);
    EXPECT_EQ(answer.code, 200) << path;
    EXPECT_EQ(answer.body, "ok") << path;
  }
  for (const char* path : {"/", "/healthz/", "/health", "/HEALTHZ", "//healthz", "healthz", "*"}) {
    EXPECT_EQ(Get(port_, path).code, 404) << path;
  }
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "BREW"}) {
    EXPECT_EQ(Get(port_, "/healthz", method).body, "ok") << method;
  }
}

TEST_F(HttpServerTest, AnAnswerHasStatusHeadersAndBody) {
  handler_ = [] { return HttpAnswer{.code = 500, .body = "why", .content_type = "text/html"}; };
  Listen();
  HttpConnection asks(port_);
  asks.Send(kAsk);
  const std::string answer = asks.ReadAll();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 500 Internal Server Error\r\nDate: "));
  EXPECT_THAT(answer, HasSubstr(" GMT\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Type: text/html\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 3\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nwhy"));

  HttpConnection asks_for_the_head(port_);
  asks_for_the_head.Send("HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
  const std::string head = asks_for_the_head.ReadAll();
  EXPECT_THAT(head, HasSubstr("\r\nContent-Length: 3\r\n"));
  EXPECT_THAT(head, EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, ARequestsBodyDoesNotPreventTheAnswer) {
  Listen();
  for (const size_t size : {1u, 1000u, 1u << 22}) {
    HttpConnection posts(port_);
    EXPECT_TRUE(posts.Send(absl::StrCat("POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: ",
                                        size, "\r\n\r\n", std::string(size, 'x'))));
    EXPECT_THAT(posts.ReadAll(), EndsWith("\r\n\r\nok")) << size;
  }
}

TEST_F(HttpServerTest, ARequestThatIsNotHttpIsRefused) {
  Listen();
  for (const std::string& text :
       {std::string("nonsense\r\n\r\n"), std::string("GET /healthz\r\n\r\n"),
        std::string("GET /healthz HTTP/9.9\r\n\r\n"), std::string("\0\1\2\r\n\r\n", 7),
        std::string("GET /healthz HTTP/1.1\r\nno colon\r\n\r\n")}) {
    HttpConnection sends(port_);
    sends.Send(text);
    EXPECT_THAT(sends.ReadAll(), StartsWith("HTTP/1.1 400 Bad Request\r\n")) << text;
  }
  HttpConnection sends(port_);
  sends.Send(absl::StrCat("GET /healthz HTTP/1.1\r\nX: ", std::string(20000, 'x'), "\r\n\r\n"));
  EXPECT_THAT(sends.ReadAll(), StartsWith("HTTP/1.1 431 "));
}

TEST_F(HttpServerTest, SilentConnectionsDoNotBlockOtherClients) {
  Listen();
  for (const char* text : {"", "GET /healthz HTTP/1.1\r\nHost:"}) {
    const auto silent = Many(4 * kMaxConnections, text);
    EXPECT_EQ(Get(port_, "/healthz").code, 200);
    EXPECT_EQ(silent.front()->ReadAll(), "");  // closed to make room
  }
}

TEST_F(HttpServerTest, SilentConnectionsEndAtTheTimeout) {
  Listen({.host = "127.0.0.1", .port = 0}, absl::Milliseconds(100));
  for (const char* text : {"", "GET /healthz HTTP/1.1\r\nHost:"}) {
    HttpConnection silent(port_);
    silent.Send(text);
    EXPECT_EQ(silent.ReadAll(), "");
  }
}

// The early connection is the oldest, so it would be closed if all connections belonged to one
// client.
TEST_F(HttpServerTest, AtTheLimitTheClientWithTheMostConnectionsLosesOne) {
  Listen();
  HttpConnection early(port_);
  const auto silent = Many(2 * kMaxConnections, "");
  early.Send(kAsk);
  EXPECT_THAT(early.ReadAll(), EndsWith("ok"));
}

// The process needs descriptors for its other work more than for HTTP clients.
TEST(HttpLimitsTest, ThreeServersUseAtMostHalfOfTheDescriptors) {
  for (const size_t descriptors : {20u, 64u, 256u, 1024u, 4096u, 1u << 20}) {
    const HttpLimits limits = HttpLimits::For(descriptors);
    EXPECT_GE(limits.connections, 1u);
    EXPECT_GE(limits.waiting, 1u);
    // One connection is accepted before another makes room.
    EXPECT_LE(3 * (limits.connections + limits.waiting + 1), descriptors / 2) << descriptors;
  }
  EXPECT_EQ(HttpLimits::For(256).connections, 8u);
  EXPECT_EQ(HttpLimits::For(256).waiting, 24u);
  EXPECT_EQ(HttpLimits::For(size_t{0} - 1).connections, HttpLimits().connections);
  EXPECT_EQ(HttpLimits::For(size_t{0} - 1).waiting, HttpLimits().waiting);
}

// A handler whose answers wait until the test calls End() with their codes.
class Answers {
 public:
  HttpAnswer Make() {
    const int turn = ++begun_;
    std::unique_lock lock(mutex_);
    const auto index = static_cast<size_t>(turn) - 1;
    ended_.wait(lock, [&] { return index < codes_.size() || open_; });
    return {.code = index < codes_.size() ? codes_[index] : 200, .body = absl::StrCat(turn)};
  }
  void End(int code, bool open = false) {
    {
      const std::lock_guard lock(mutex_);
      codes_.push_back(code);
      open_ = open;
    }
    ended_.notify_all();
  }
  void AwaitBegun(int count) const {
    while (begun_ < count) absl::SleepFor(absl::Milliseconds(1));
  }
  int begun() const { return begun_; }

 private:
  std::atomic<int> begun_ = 0;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<int> codes_;  // guarded by mutex_
  bool open_ = false;       // further answers wait no more and have code 200; guarded by mutex_
};

TEST_F(HttpServerTest, WaitingRequestsShareOneAnswer) {
  constexpr int kMany = 500;
  for (const int code : {200, 500}) {
    Answers answers;
    handler_ = [&answers] { return answers.Make(); };
    Listen();
    HttpConnection first(port_);
    first.Send(kAsk);
    answers.AwaitBegun(1);
    const auto many = Many(kMany, kAsk);
    // This answer shows that the earlier requests were read.
    EXPECT_EQ(Get(port_, "/").code, 404);
    answers.End(code);
    EXPECT_THAT(first.ReadAll(), EndsWith("\r\n\r\n1"));
    // A failure does not answer requests that arrived after its handler began.
    if (code != 200) {
      answers.AwaitBegun(2);
      EXPECT_EQ(Get(port_, "/").code, 404);
      answers.End(200);
    }
    const int last = code == 200 ? 1 : 2;
    for (const auto& connection : many) {
      EXPECT_THAT(connection->ReadAll(), EndsWith(absl::StrCat("\r\n\r\n", last)));
    }
    EXPECT_EQ(answers.begun(), last);
    server_.reset();
  }
}

// One client sends more requests than the server has room for.
TEST_F(HttpServerTest, EveryWaitingRequestIsAnswered) {
  Answers answers;
  handler_ = [&answers] { return answers.Make(); };
  Listen();
  HttpConnection asks(port_, kOther);
  asks.Send(kAsk);
  answers.AwaitBegun(1);
  const auto many = Many(HttpLimits().waiting + 200, kAsk);
  answers.End(200, /*open=*/true);
  EXPECT_THAT(asks.ReadAll(), EndsWith("\r\n\r\n1"));
  for (const auto& connection : many) {
    EXPECT_THAT(connection->ReadAll(), StartsWith("HTTP/1.1 200"));
  }
}

TEST_F(HttpServerTest, ASlowAnswerDoesNotDelayOtherPaths) {
  Answers answers;
  auto server =
      HttpServer::Listen({.host = "127.0.0.1", .port = 0},
                         {{"/slow", [&answers] { return answers.Make(); }}, {"/healthz", Healthy}});
  ASSERT_TRUE(server.ok()) << server.status();
  HttpConnection slow((*server)->port());
  slow.Send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  answers.AwaitBegun(1);
  EXPECT_EQ(Get((*server)->port(), "/healthz").code, 200);
  answers.End(200);
  EXPECT_THAT(slow.ReadAll(), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, AStopLetsRunningAnswersFinish) {
  std::promise<void> begun;
  std::promise<void> may_end;
  handler_ = [&] {
    begun.set_value();
    may_end.get_future().wait();
    return Healthy();
  };
  Listen();
  const auto silent = Many(4, "");
  auto asks = std::async(std::launch::async, [this] { return Get(port_, "/healthz"); });
  begun.get_future().wait();
  std::thread stop([this] { server_.reset(); });
  EXPECT_EQ(silent.back()->ReadAll(), "");
  EXPECT_FALSE(HttpConnection(port_).ok());
  may_end.set_value();
  EXPECT_EQ(asks.get().body, "ok");
  stop.join();
}

TEST_F(HttpServerTest, ASecondServerCannotUseThePort) {
  Listen();
  const auto second = HttpServer::Listen({.host = "127.0.0.1", .port = port_}, {});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              StartsWith(absl::StrCat("cannot listen on 127.0.0.1:", port_, ": bind: ")));
}

TEST_F(HttpServerTest, APortCanBeReusedWithoutAWait) {
  Listen();
  // The server closes first, so its port lingers in TIME_WAIT.
  EXPECT_EQ(Get(port_, "/healthz").code, 200);
  server_.reset();
  Listen({.host = "127.0.0.1", .port = port_});
  EXPECT_EQ(Get(port_, "/healthz").code, 200);
}

TEST_F(HttpServerTest, TheServerListensOnAllAddressesOrOnAHostName) {
  Listen({.host = "", .port = 0});
  EXPECT_EQ(Get(port_, "/healthz").code, 200);
  Listen({.host = "localhost", .port = 0});
  EXPECT_GT(port_, 0);
  const auto nowhere = HttpServer::Listen({.host = "no.such.host.invalid", .port = 1}, {});
  EXPECT_THAT(std::string(nowhere.status().message()),
              StartsWith("cannot listen on no.such.host.invalid:1: "));
}

}  // namespace
}  // namespace csi_proxy
