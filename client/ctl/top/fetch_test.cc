#include "client/ctl/top/fetch.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "server/http/http_testing.h"

namespace csi_proxy::ctl::top {
namespace {

using http_testing::RawServer;

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
  const RawServer server(absl::StrCat("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n",
                                      "Content-Length: ", body.size(), "\r\n\r\n", body));
  const auto text = FetchMetrics(server.address(), absl::Seconds(10));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, body);
  ASSERT_EQ(server.requests().size(), 1u);
  EXPECT_TRUE(absl::StartsWith(server.requests()[0], "GET /metrics HTTP/1."));
}

TEST(FetchMetricsTest, WhoHasNoMetricsIsTold) {
  const RawServer server("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
  const absl::Status status = FetchMetrics(server.address(), absl::Seconds(10)).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "404")) << status;
}

TEST(FetchMetricsTest, WhoDoesNotSpeakHttpIsUnavailable) {
  const RawServer server("SSH-2.0-OpenSSH_9.2\r\n\r\n");
  const absl::Status status = FetchMetrics(server.address(), absl::Seconds(10)).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST(FetchMetricsTest, NobodyThereIsUnavailable) {
  HostPort address;
  {
    const RawServer server("");
    address = server.address();
  }
  const absl::Status status = FetchMetrics(address, absl::Seconds(10)).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST(FetchMetricsTest, WhoSaysNothingIsNotWaitedForForever) {
  const RawServer server("", {.stays = true});
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
    const RawServer server(std::move(answer));
    const absl::Status status = FetchMetrics(server.address(), absl::Seconds(60)).status();
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  }
}

}  // namespace
}  // namespace csi_proxy::ctl::top
