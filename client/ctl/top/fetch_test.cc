#include "client/ctl/top/fetch.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl::top {
namespace {

// Takes one connection, reads the request, and answers it with a text; keeps the connection until
// the end when `stays`.
class OneAnswer {
 public:
  explicit OneAnswer(std::string answer, bool stays = false) : stays_(stays) {
    socket_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    EXPECT_EQ(listen(socket_, 1), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, answer = std::move(answer)] { Serve(answer); });
  }
  ~OneAnswer() {
    done_ = true;
    shutdown(socket_, SHUT_RDWR);
    thread_.join();
    close(socket_);
  }

  HostPort address() const { return {"127.0.0.1", port_}; }
  const std::string& request() const { return request_; }

 private:
  void Serve(const std::string& answer) {
    const int fd = accept(socket_, nullptr, nullptr);
    if (fd < 0) return;
    char buffer[1024];
    while (!absl::StrContains(request_, "\r\n\r\n")) {
      const ssize_t n = recv(fd, buffer, sizeof(buffer), 0);
      if (n <= 0) break;
      request_.append(buffer, static_cast<size_t>(n));
    }
    for (size_t sent = 0; sent < answer.size();) {
      const ssize_t n = send(fd, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) break;
      sent += static_cast<size_t>(n);
    }
    while (stays_ && !done_) absl::SleepFor(absl::Milliseconds(5));
    close(fd);
  }

  const bool stays_;
  int socket_ = -1;
  int port_ = 0;
  std::string request_;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

TEST(ParseMetricsAddressTest, IsAsTheServiceTakesIt) {
  EXPECT_EQ(*ParseMetricsAddress("--metrics", "10.0.0.1:9090"), (HostPort{"10.0.0.1", 9090}));
  EXPECT_EQ(*ParseMetricsAddress("--metrics", ":9090"), (HostPort{"127.0.0.1", 9090}));
  EXPECT_EQ(*ParseMetricsAddress("--metrics", "[::1]:9090"), (HostPort{"::1", 9090}));
  for (const char* wrong : {"", "9090", "host", "host:", "host:x", "host:-1", "host:0", "[::1:1"}) {
    const absl::Status status = ParseMetricsAddress("--metrics", wrong).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << wrong;
    EXPECT_TRUE(absl::StartsWith(status.message(), "--metrics: ")) << status;
  }
}

TEST(FetchMetricsTest, TheBodyIsTheText) {
  std::string body;
  while (body.size() < 100'000) absl::StrAppend(&body, "metric ", body.size(), "\n");
  const OneAnswer server(absl::StrCat("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n",
                                      "Content-Length: ", body.size(), "\r\n\r\n", body));
  const auto text = FetchMetrics(server.address(), absl::Seconds(10));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, body);
  EXPECT_TRUE(absl::StartsWith(server.request(), "GET /metrics HTTP/1.")) << server.request();
}

TEST(FetchMetricsTest, WhoHasNoMetricsIsTold) {
  const OneAnswer server("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
  const absl::Status status = FetchMetrics(server.address(), absl::Seconds(10)).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "404")) << status;
}

TEST(FetchMetricsTest, WhoDoesNotSpeakHttpIsUnavailable) {
  const OneAnswer server("SSH-2.0-OpenSSH_9.2\r\n\r\n");
  const absl::Status status = FetchMetrics(server.address(), absl::Seconds(10)).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST(FetchMetricsTest, NobodyThereIsUnavailable) {
  HostPort address;
  {
    const OneAnswer server("");
    address = server.address();
    // Takes the one connection it waits for.
    EXPECT_FALSE(FetchMetrics(address, absl::Seconds(10)).ok());
  }
  const absl::Status status = FetchMetrics(address, absl::Seconds(10)).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST(FetchMetricsTest, WhoSaysNothingIsNotWaitedForForever) {
  const OneAnswer server("", /*stays=*/true);
  const absl::Time start = absl::Now();
  const absl::Status status = FetchMetrics(server.address(), absl::Milliseconds(300)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
}

TEST(FetchMetricsTest, WhatHasNoEndIsNotRead) {
  for (const char* head :
       {"HTTP/1.1 200 OK\r\nContent-Length: 40000000\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"}) {
    std::string answer = head;
    answer.append(40'000'000, 'x');
    const OneAnswer server(std::move(answer));
    const absl::Status status = FetchMetrics(server.address(), absl::Seconds(60)).status();
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  }
}

}  // namespace
}  // namespace csi_proxy::ctl::top
