#include "server/http/http_client.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/http/http_testing.h"

namespace csi_proxy {
namespace {

using http_testing::RawServer;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr size_t kMaxBytes = 1000;
constexpr char kHidden[] = "hunter2-of-the-answer";

// The long default keeps a slow machine from failing tests that do not concern the timeout.
absl::StatusOr<HttpReply> Ask(const RawServer& server, absl::Duration timeout = absl::Hours(1)) {
  return AskHttp({.address = server.address(),
                  .target = "/v1/a",
                  .headers = {{"X-Token", Secret("t0ken")}},
                  .subject = "answers",
                  .timeout = timeout,
                  .max_bytes = kMaxBytes});
}

TEST(HttpClientTest, OneRequestReturnsTheWholeAnswer) {
  const std::string body(kMaxBytes, 'x');
  for (const std::string& answer :
       {absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(), "\r\n\r\n", body),
        absl::StrCat("HTTP/1.0 200 OK\r\n\r\n", body),
        absl::StrCat("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e7\r\n", body.substr(1),
                     "\r\n1\r\nx\r\n0\r\n\r\n")}) {
    const RawServer server(answer);
    const auto reply = Ask(server);
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->code, 200);
    EXPECT_EQ(reply->body.Reveal(), body);
    ASSERT_THAT(server.requests(), SizeIs(1));
    const std::string request = server.requests().front();
    EXPECT_THAT(request, StartsWith("GET /v1/a HTTP/1.1\r\n"));
    EXPECT_THAT(request, HasSubstr(absl::StrCat("\r\nHost: ", ToString(server.address()), "\r\n")));
    EXPECT_THAT(request, HasSubstr("\r\nX-Token: t0ken\r\n"));
    EXPECT_THAT(request, HasSubstr("\r\nConnection: close\r\n"));
    EXPECT_THAT(request, EndsWith("\r\n\r\n"));
  }
}

TEST(HttpClientTest, EveryCodeIsReturnedAndRedirectsAreNotFollowed) {
  const RawServer elsewhere("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  for (const int code : {204, 301, 307, 403, 404, 500, 503}) {
    const RawServer server(absl::StrCat("HTTP/1.1 ", code, " x\r\nContent-Length: 0\r\nLocation: ",
                                        "http://", ToString(elsewhere.address()), "/v1/a\r\n\r\n"));
    const auto reply = Ask(server);
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->code, code);
  }
  EXPECT_THAT(elsewhere.requests(), SizeIs(0));
}

TEST(HttpClientTest, AnAnswerBeyondTheSizeLimitIsRefused) {
  for (const char* head :
       {"HTTP/1.1 200 OK\r\nContent-Length: 40000000\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2000000\r\n"}) {
    const RawServer server(absl::StrCat(head, std::string(40'000'000, 'x')));
    const absl::Status status = Ask(server).status();
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_EQ(status.message(), absl::StrCat("the answer of ", ToString(server.address()),
                                             " is larger than 1000 bytes"));
  }
  // The body is one byte over the limit.
  const RawServer server(absl::StrCat("HTTP/1.1 200 OK\r\n\r\n", std::string(1001, 'x')));
  EXPECT_TRUE(absl::IsResourceExhausted(Ask(server).status()));
}

TEST(HttpClientTest, AnAnswerThatIsNotHttpIsUnavailableAndNotQuoted) {
  for (const std::string& answer :
       {std::string(), absl::StrCat(kHidden, "\r\n\r\n"), absl::StrCat("HTTP/1.1 ", kHidden),
        absl::StrCat("HTTP/1.1 200 OK\r\n", kHidden, "\r\n\r\n"),
        absl::StrCat("HTTP/9.9 200 OK\r\n\r\n", kHidden),
        absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", kHidden),
        absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", kHidden),
        absl::StrCat("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", kHidden, "\r\n"),
        absl::StrCat("HTTP/1.1 200 OK\r\nX: ", std::string(100'000, 'x'), "\r\n\r\n"),
        absl::StrCat("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;",
                     std::string(100'000, 'x'))}) {
    const RawServer server(answer);
    const absl::Status status = Ask(server).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status << answer.substr(0, 99);
    EXPECT_THAT(std::string(status.message()),
                StartsWith(absl::StrCat(ToString(server.address()),
                                        " does not answer as an HTTP server: ")));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr(kHidden)));
  }
}

TEST(HttpClientTest, AMissingServerIsUnavailable) {
  HostPort address;
  {
    const RawServer server("");
    address = server.address();
  }
  const auto nobody =
      AskHttp({.address = address, .target = "/", .subject = "answers", .timeout = absl::Hours(1)});
  EXPECT_TRUE(absl::IsUnavailable(nobody.status())) << nobody.status();
  EXPECT_THAT(std::string(nobody.status().message()),
              StartsWith(absl::StrCat("nothing serves answers at ", ToString(address), ": ")));
}

// The timeout ends the exchange with a silent server, and with a server that sends one byte every
// 20 ms.
TEST(HttpClientTest, TheTimeoutLimitsTheWholeExchange) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n";
  for (const RawServer::Options options :
       {RawServer::Options{.stays = true},
        RawServer::Options{.pause = std::chrono::milliseconds(20)}}) {
    for (const std::string& answer : {std::string(options.stays ? "" : "H"), head}) {
      const RawServer server(answer + (options.stays ? "" : std::string(900, 'x')), options);
      const absl::Time start = absl::Now();
      const absl::Status status = Ask(server, absl::Milliseconds(300)).status();
      EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
      EXPECT_EQ(status.message(), ToString(server.address()) + " did not answer in time");
      EXPECT_LT(absl::Now() - start, absl::Seconds(10));
    }
  }
}

}  // namespace
}  // namespace csi_proxy
