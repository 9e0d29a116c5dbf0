#include "server/observability/metrics.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/base/testing_allocations.h"
#include "server/base/testing_posix.h"
#include "server/product_version.h"

namespace csi_proxy::observability {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr shim::MethodInfo kRescan{
    "disk", "v1beta1", "v1beta1.Disk", "Rescan", "csi-proxy-disk-v1beta1", "/v1beta1.Disk/Rescan"};

int Connect(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

// What a scrape gets.
std::string Scrape(int port) {
  const int fd = Connect(port);
  const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
  EXPECT_EQ(send(fd, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t n; (n = recv(fd, buffer, sizeof(buffer), 0)) > 0;) {
    answer.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  return answer;
}

class MetricsTest : public testing::Test {
 protected:
  MetricsTest() : port_(FreePort()) {
    auto metrics = Metrics::Serve("address", "127.0.0.1:" + std::to_string(port_));
    EXPECT_TRUE(metrics.ok()) << metrics.status();
    metrics_ = *std::move(metrics);
  }
  const int port_;
  std::unique_ptr<Metrics> metrics_;
};

TEST_F(MetricsTest, CountsCallsUnderTheNamesOfGoGrpcPrometheus) {
  metrics_->OnStart(kRescan);
  EXPECT_THAT(Scrape(port_), HasSubstr("csi_proxy_calls_in_flight{group=\"disk\"} 1"));
  metrics_->OnDone(kRescan, {}, absl::NotFoundError(""), absl::Milliseconds(50));
  const std::string text = Scrape(port_);
  const std::string labels =
      R"({grpc_method="Rescan",grpc_service="v1beta1.Disk",grpc_type="unary"})";
  EXPECT_THAT(text, HasSubstr("grpc_server_started_total" + labels + " 1"));
  EXPECT_THAT(text, HasSubstr(R"(grpc_server_handled_total{grpc_code="NotFound",)"));
  EXPECT_THAT(text, HasSubstr(R"(grpc_type="unary",le="0.01"} 0)"));
  EXPECT_THAT(text, HasSubstr(R"(grpc_type="unary",le="0.1"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(grpc_type="unary",le="120"} 1)"));
  EXPECT_THAT(text, HasSubstr("csi_proxy_calls_in_flight{group=\"disk\"} 0"));
}

// The line that the Go release's own test looks for (integrationtests/metrics_test.go of
// github.com/kubernetes-csi/csi-proxy).
TEST_F(MetricsTest, TheTimesOfARpcBeginWithItsName) {
  constexpr shim::MethodInfo kCreateSymlink{"filesystem",
                                            "v1",
                                            "v1.Filesystem",
                                            "CreateSymlink",
                                            "csi-proxy-filesystem-v1",
                                            "/v1.Filesystem/CreateSymlink"};
  metrics_->OnStart(kCreateSymlink);
  metrics_->OnDone(kCreateSymlink, {}, absl::OkStatus(), absl::Milliseconds(1));
  EXPECT_THAT(Scrape(port_),
              HasSubstr(R"(grpc_server_handling_seconds_bucket{grpc_method="CreateSymlink")"));
}

TEST_F(MetricsTest, TellsWhoStillCallsAnOldVersion) {
  metrics_->OnStart(kRescan);
  metrics_->OnDone(kRescan,
                   {.process_id = 1, .image_path = "\\\\?\\Volume{7f}\\app\\old-driver.exe"},
                   absl::OkStatus(), absl::Milliseconds(1));
  EXPECT_THAT(
      Scrape(port_),
      HasSubstr(
          R"(csi_proxy_api_calls_total{client_image="old-driver.exe",group="disk",version="v1beta1"} 1)"));
}

TEST_F(MetricsTest, TellsTheProgramsVersionAndItsStart) {
  const std::string text = Scrape(port_);
  EXPECT_THAT(text, HasSubstr(absl::StrCat("csi_proxy_build_info{version=\"", kVersion, "\"} 1")));
  // Not the help or the type, which begin with `#`.
  const size_t found = text.find("\ncsi_proxy_start_time_seconds ");
  ASSERT_NE(found, std::string::npos) << text;
  const double start = std::strtod(text.c_str() + text.find(' ', found), nullptr);
  const double now = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  EXPECT_LE(start, now);
  EXPECT_GE(start, now - 600);
}

TEST_F(MetricsTest, ImagesOfAnAttackersMakingDoNotPileUp) {
  for (int i = 0; i < 1000; ++i) {
    metrics_->OnStart(kRescan);
    metrics_->OnDone(kRescan, {.process_id = 1, .image_path = "evil" + std::to_string(i)},
                     absl::OkStatus(), absl::Milliseconds(1));
  }
  const std::string text = Scrape(port_);
  EXPECT_THAT(text, HasSubstr(R"(client_image="evil0")"));
  EXPECT_THAT(text, HasSubstr(R"(client_image="other",group="disk",version="v1beta1"} 936)"));
  EXPECT_THAT(text, Not(HasSubstr("evil999")));
}

TEST_F(MetricsTest, ACallThatIsNotTheFirstOfItsKindCostsNoAllocation) {
  for (const char* const image : {"", "C:\\drivers\\a-driver-with-a-long-name.exe"}) {
    const Peer peer{.process_id = 1, .image_path = image};
    EXPECT_EQ(testing_allocations::AllocationsOf([&] {
                metrics_->OnStart(kRescan);
                metrics_->OnDone(kRescan, peer, absl::OkStatus(), absl::Milliseconds(1));
              }),
              0)
        << image;
  }
}

// The paths of containers' images are others with each restart of a pod.
TEST_F(MetricsTest, AProgramIsOneSeriesWhereverItsImageLies) {
  for (int i = 0; i < 100; ++i) {
    metrics_->OnStart(kRescan);
    metrics_->OnDone(
        kRescan,
        {.process_id = 1, .image_path = "\\\\?\\Volume{" + std::to_string(i) + "}\\driver.exe"},
        absl::OkStatus(), absl::Milliseconds(1));
  }
  EXPECT_THAT(
      Scrape(port_),
      HasSubstr(
          R"(csi_proxy_api_calls_total{client_image="driver.exe",group="disk",version="v1beta1"} 100)"));
}

TEST_F(MetricsTest, NamesWhoWantsMoreThanItsShare) {
  const Peer peer{.process_id = 7, .image_path = "/bin/greedy"};
  metrics_->OnLimit(peer, shim::Limit::kConnections, 1);
  metrics_->OnLimit(peer, shim::Limit::kCalls, 1);
  metrics_->OnLimit(peer, shim::Limit::kCalls, 2);
  const std::string text = Scrape(port_);
  EXPECT_THAT(
      text,
      HasSubstr(R"(csi_proxy_client_limited_total{client_image="greedy",limit="connections"} 1)"));
  EXPECT_THAT(
      text, HasSubstr(R"(csi_proxy_client_limited_total{client_image="greedy",limit="calls"} 2)"));
}

TEST_F(MetricsTest, ReportsConnectionsAndQueues) {
  metrics_->SetGauges({.connections =
                           [] {
                             return transport::ListenerCounters{
                                 .accepted = 7, .dropped_silent = 3, .silent = 2, .live = 1};
                           },
                       .queued =
                           [] {
                             return std::vector<std::pair<std::string, size_t>>{{"smb", 5}};
                           },
                       .formats =
                           [] {
                             return Metrics::Formats{2, absl::Milliseconds(1500)};
                           }});
  const std::string text = Scrape(port_);
  EXPECT_THAT(text, HasSubstr("csi_proxy_connections{state=\"silent\"} 2"));
  EXPECT_THAT(text, HasSubstr("csi_proxy_connections{state=\"live\"} 1"));
  EXPECT_THAT(text, HasSubstr("csi_proxy_connections_total{outcome=\"accepted\"} 7"));
  EXPECT_THAT(text, HasSubstr("csi_proxy_connections_total{outcome=\"dropped_silent\"} 3"));
  EXPECT_THAT(text, HasSubstr("csi_proxy_calls_queued{group=\"smb\"} 5"));
  EXPECT_THAT(text, HasSubstr("\ncsi_proxy_formats_running 2\n"));
  EXPECT_THAT(text, HasSubstr("\ncsi_proxy_format_oldest_seconds 1.5\n"));
  metrics_->SetGauges({});
  EXPECT_THAT(Scrape(port_), Not(HasSubstr("csi_proxy_connections")));
}

// As many as there are threads to answer.
TEST_F(MetricsTest, SilenceDoesNotKeepPrometheusOutForLong) {
  std::vector<int> silent;
  for (int i = 0; i < 8; ++i) silent.push_back(Connect(port_));
  const absl::Time begin = absl::Now();
  EXPECT_THAT(Scrape(port_), HasSubstr("csi_proxy_build_info"));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));  // Prometheus waits as long
  for (const int fd : silent) close(fd);
}

// The kernel's table of listening sockets: `0100007F` is 127.0.0.1
// (https://www.kernel.org/doc/html/latest/networking/proc_net_tcp.html).
TEST(MetricsServeTest, APortAloneIsThisMachinesOnly) {
  const int port = FreePort();
  const auto metrics = Metrics::Serve("address", ":" + std::to_string(port));
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  EXPECT_THAT(Scrape(port), HasSubstr("200 OK"));
  std::ostringstream sockets;
  sockets << std::ifstream("/proc/net/tcp").rdbuf() << std::ifstream("/proc/net/tcp6").rdbuf();
  std::array<char, 8> hex;
  snprintf(hex.data(), hex.size(), ":%04X", port);
  EXPECT_THAT(sockets.str(), HasSubstr("0100007F" + std::string(hex.data()) + " 00000000:0000 0A"));
  EXPECT_THAT(sockets.str(), Not(HasSubstr("00000000" + std::string(hex.data()) + " 00000000")));
}

TEST(MetricsServeTest, AnAddressThatCannotBeListenedOnIsAnError) {
  for (const char* address : {"nonsense", "127.0.0.1:99999", "203.0.113.1:1"}) {
    const auto metrics = Metrics::Serve("address", address);
    ASSERT_FALSE(metrics.ok()) << address;
    EXPECT_TRUE(absl::IsInvalidArgument(metrics.status()));
    EXPECT_THAT(std::string(metrics.status().message()), HasSubstr(address));
  }
}

}  // namespace
}  // namespace csi_proxy::observability
