#include "server/observability/metrics.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "csi_proxy/steady_time.h"
#include "server/base/fallbacks.h"
#include "server/base/running_calls.h"
#include "server/base/testing_allocations.h"
#include "server/calls/request_fields.h"
#include "server/http/http_server.h"
#include "server/http/http_testing.h"
#include "server/observability/product_version.h"

namespace csi_proxy::observability {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr rpc::MethodInfo kRescan{
    "disk", "v1beta1", "v1beta1.Disk", "Rescan", "csi-proxy-disk-v1beta1", "/v1beta1.Disk/Rescan"};

std::string Scrape(int port) { return http_testing::Get(port, "/metrics").body; }

// Returns the context of a call of `peer`, which must outlive it.
CallContext CallOf(const Peer& peer) { return CallContext().From(&peer, ""); }

class MetricsTest : public testing::Test {
 protected:
  MetricsTest() {
    auto metrics = Metrics::Serve(
        "address", "127.0.0.1:0", [](absl::string_view) {}, "embedded", [this] { return now_; });
    EXPECT_TRUE(metrics.ok()) << metrics.status();
    metrics_ = *std::move(metrics);
    port_ = metrics_->port();
  }
  void Call(const std::string& image, const std::string& tenant) {
    const Peer peer{.process_id = 1, .image_path = image, .tenant = tenant};
    metrics_->OnDone(kRescan, CallOf(peer), absl::OkStatus(), absl::Milliseconds(1));
  }

  SteadyTime now_ = SteadyTime();
  std::unique_ptr<Metrics> metrics_;
  int port_;
};

TEST_F(MetricsTest, CallMetricsHaveTheNamesOfGoGrpcPrometheus) {
  metrics_->OnStart(kRescan);
  EXPECT_THAT(Scrape(port_), HasSubstr("csi_proxy_calls_in_flight{group=\"disk\"} 1"));
  metrics_->OnDone(kRescan, {}, absl::NotFoundError(""), absl::Milliseconds(50));
  const std::string text = Scrape(port_);
  const std::string labels =
      R"({grpc_method="Rescan",grpc_service="v1beta1.Disk",grpc_type="unary"})";
  EXPECT_THAT(text, HasSubstr("grpc_server_started_total" + labels + " 1"));
  EXPECT_THAT(text, HasSubstr("grpc_server_msg_received_total" + labels + " 1"));
  EXPECT_THAT(text, HasSubstr("grpc_server_msg_sent_total" + labels + " 1"));
  EXPECT_THAT(text, HasSubstr(R"(grpc_server_handled_total{grpc_code="NotFound",)"));
  EXPECT_THAT(text, HasSubstr(R"(grpc_type="unary",le="0.01"} 0)"));
  EXPECT_THAT(text, HasSubstr(R"(grpc_type="unary",le="0.1"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(grpc_type="unary",le="120"} 1)"));
  EXPECT_THAT(text, HasSubstr("csi_proxy_calls_in_flight{group=\"disk\"} 0"));
}

// The expected line is that of the Go release's own test (integrationtests/metrics_test.go of
// github.com/kubernetes-csi/csi-proxy).
TEST_F(MetricsTest, TheMethodIsTheFirstLabelOfAnRpcsDurations) {
  constexpr rpc::MethodInfo kCreateSymlink{"filesystem",
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

TEST_F(MetricsTest, ClientsOfOldVersionsAreNamed) {
  metrics_->OnStart(kRescan);
  Call("\\\\?\\Volume{7f}\\app\\old-driver.exe", "");
  EXPECT_THAT(
      Scrape(port_),
      HasSubstr(
          R"(csi_proxy_api_calls_total{client_image="old-driver.exe",group="disk",version="v1beta1"} 1)"));
}

TEST_F(MetricsTest, VersionAndProcessMetricsAreReported) {
  const std::string text = Scrape(port_);
  EXPECT_THAT(text, HasSubstr(absl::StrCat("csi_proxy_build_info{mode=\"embedded\",version=\"",
                                           kVersion, "\"} 1")));
  const double now = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  constexpr double kMb = 1 << 20;
  const struct {
    const char* name;
    double least;
    double most;
  } kProcess[] = {
      {"cpu_seconds_total", 0.001, 600},
      {"resident_memory_bytes", kMb, 1000 * kMb},
      {"virtual_memory_bytes", kMb, 1e14},
      {"open_fds", 0, 10'000},  // Wine counts no handles
      {"max_fds", 16, 1e8},
      {"start_time_seconds", now - 600, now + 1},
  };
  for (const auto& stat : kProcess) {
    // Skips help and type, which begin with `#`.
    const size_t found = text.find(absl::StrCat("\nprocess_", stat.name, " "));
    ASSERT_NE(found, std::string::npos) << text;
    const double value = std::strtod(text.c_str() + text.find(' ', found), nullptr);
    EXPECT_TRUE(stat.least <= value && value <= stat.most) << stat.name << " " << value;
  }
}

TEST_F(MetricsTest, ATenantsImageNamesAreLimitedInNumber) {
  for (int i = 0; i < 1000; ++i) Call("evil" + std::to_string(i), "evil");
  Call("other", "evil");
  Call("honest", "honest");
  const std::string text = Scrape(port_);
  EXPECT_THAT(text, HasSubstr(R"(client_image="evil0")"));
  EXPECT_THAT(text, HasSubstr(R"(client_image="other",group="disk",version="v1beta1"} 953)"));
  EXPECT_THAT(text, HasSubstr(R"(client_image="honest",group="disk",version="v1beta1"} 1)"));
  EXPECT_THAT(text, Not(HasSubstr("evil999")));
}

TEST_F(MetricsTest, AnImagesSeriesEndsAfterAnHourWithoutCalls) {
  metrics_->OnLimit({.process_id = 1, .image_path = "gone"}, rpc::Limit::kCalls, 1);
  for (int i = 0; i < 100; ++i) Call("gone" + std::to_string(i), "evil");
  Scrape(port_);
  now_ += absl::Minutes(59);
  Call("gone1", "evil");
  EXPECT_THAT(Scrape(port_), HasSubstr("\"gone0\""));
  now_ += absl::Minutes(1);
  // Labels become free without a scrape.
  Call("new", "evil");
  const std::string text = Scrape(port_);
  EXPECT_THAT(text, HasSubstr(R"(client_image="new",group="disk",version="v1beta1"} 1)"));
  EXPECT_THAT(text, HasSubstr("\"gone1\""));
  EXPECT_THAT(text, Not(HasSubstr("\"gone0\"")));
  EXPECT_THAT(text, Not(HasSubstr("\"gone\"")));
  Call("gone0", "evil");
  EXPECT_THAT(Scrape(port_),
              HasSubstr(R"(client_image="gone0",group="disk",version="v1beta1"} 1)"));
}

TEST_F(MetricsTest, RepeatedCallsOfOneKindAllocateNoMemory) {
  for (const char* const image : {"", "C:\\drivers\\a-driver-with-a-long-name.exe"}) {
    const Peer peer{.process_id = 1, .image_path = image};
    EXPECT_EQ(testing_allocations::AllocationsOf([&] {
                metrics_->OnStart(kRescan);
                metrics_->OnDone(kRescan, CallOf(peer), absl::OkStatus(), absl::Milliseconds(1));
              }),
              0)
        << image;
  }
}

// The path of a container's image changes whenever its pod restarts.
TEST_F(MetricsTest, AProgramHasOneSeriesForAllPathsOfItsImage) {
  for (int i = 0; i < 100; ++i) {
    metrics_->OnStart(kRescan);
    Call("\\\\?\\Volume{" + std::to_string(i) + "}\\driver.exe", "");
  }
  EXPECT_THAT(
      Scrape(port_),
      HasSubstr(
          R"(csi_proxy_api_calls_total{client_image="driver.exe",group="disk",version="v1beta1"} 100)"));
}

TEST_F(MetricsTest, AClientBeyondItsShareIsNamed) {
  const Peer peer{.process_id = 7, .image_path = "/bin/greedy"};
  metrics_->OnLimit(peer, rpc::Limit::kConnections, 1);
  metrics_->OnLimit(peer, rpc::Limit::kCalls, 1);
  metrics_->OnLimit(peer, rpc::Limit::kCalls, 2);
  const std::string text = Scrape(port_);
  EXPECT_THAT(
      text,
      HasSubstr(R"(csi_proxy_client_limited_total{client_image="greedy",limit="connections"} 1)"));
  EXPECT_THAT(
      text, HasSubstr(R"(csi_proxy_client_limited_total{client_image="greedy",limit="calls"} 2)"));
}

// Metrics have no authentication. Of the texts that a client chooses, they contain only the name of
// its program.
TEST_F(MetricsTest, MetricsContainNoTextThatAClientSent) {
  const RunningCall first("volume.UnmountVolume", "volume_id=\"marker1\"", "marker2");
  const RunningCall second("volume.UnmountVolume", "volume_id=\"marker3\"");
  const SteadyTime begun = SteadyTime::Now();
  const Peer peer{.process_id = 1, .image_path = "/marker4/driver", .tenant = "marker5"};
  const CallContext context = CallOf(peer).Traced("marker6");
  metrics_->OnStart(kRescan);
  metrics_->OnDone(kRescan, context, absl::InternalError("marker7"), absl::Milliseconds(1));
  metrics_->OnLimit(peer, rpc::Limit::kCalls, 1);
  now_ = begun + absl::Seconds(90);
  const std::string text = Scrape(port_);
  EXPECT_THAT(text, Not(HasSubstr("marker")));
  EXPECT_THAT(text, HasSubstr("\ncsi_proxy_long_call_seconds{rpc=\"volume.UnmountVolume\"} 90."));
  EXPECT_EQ(text.find("csi_proxy_long_call_seconds{"), text.rfind("csi_proxy_long_call_seconds{"));
}

TEST_F(MetricsTest, CallsRefusedForAnUnknownFieldAreCounted) {
  google::protobuf::FileDescriptorProto message;
  ASSERT_TRUE(message.ParseFromString("\xfb\x01\xfc\x01"));
  const Peer peer{.process_id = 7, .image_path = "/bin/fork.exe"};
  metrics_->OnDone(kRescan, CallOf(peer), absl::InvalidArgumentError("field"),
                   absl::Milliseconds(1));
  EXPECT_THAT(Scrape(port_), Not(HasSubstr("csi_proxy_unknown_fields_total{")));
  const absl::Status refused = rpc::CheckKnownFields(message);
  metrics_->OnDone(kRescan, CallOf(peer), refused, absl::Milliseconds(1));
  metrics_->OnDone(kRescan, CallOf(peer), refused, absl::Milliseconds(1));
  EXPECT_THAT(Scrape(port_),
              HasSubstr(R"(csi_proxy_unknown_fields_total{client_image="fork.exe",group="disk",)"
                        R"(method="Rescan",version="v1beta1"} 2)"));
}

TEST_F(MetricsTest, ConnectionsQueuesFormatsAndMappingsAreReported) {
  const Running first(RunKind::kFormat, "first");
  now_ = SteadyTime::Now() + absl::Seconds(90);
  const Running second(RunKind::kFormat, "second");
  metrics_->SetGauges(
      {.connections =
           [] {
             return Metrics::Connections{
                 .silent = 2, .live = 1, .outcomes = {{"accepted", 7}, {"dropped_silent", 3}}};
           },
       .queued =
           [] {
             return std::vector<std::pair<std::string, size_t>>{{"smb", 5}};
           },
       .shares = []() -> std::optional<groups::ShareCounts> {
         return groups::ShareCounts{.linked = 3, .unlinked = 700, .links = 4};
       },
       .unmaps =
           [] {
             return smb::KnownShares::Counts{{{0, 0, 3, 0}, {0, 4, 0, 0}}};
           }});
  const std::string text = Scrape(port_);
  EXPECT_THAT(text, HasSubstr("csi_proxy_connections{state=\"silent\"} 2"));
  EXPECT_THAT(text, HasSubstr("csi_proxy_connections{state=\"live\"} 1"));
  EXPECT_THAT(text, HasSubstr("csi_proxy_connections_total{outcome=\"accepted\"} 7"));
  EXPECT_THAT(text, HasSubstr("csi_proxy_connections_total{outcome=\"dropped_silent\"} 3"));
  EXPECT_THAT(text, HasSubstr("csi_proxy_calls_queued{group=\"smb\"} 5"));
  EXPECT_THAT(text, HasSubstr("\ncsi_proxy_formats_running 2\n"));
  EXPECT_THAT(text, HasSubstr("\ncsi_proxy_format_oldest_seconds 90."));
  EXPECT_THAT(text,
              HasSubstr("\ncsi_proxy_smb_unmaps_total{mapping=\"removed\",links=\"several\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("\ncsi_proxy_smb_unmaps_total{mapping=\"kept\",links=\"one\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("\ncsi_proxy_smb_mappings{state=\"linked\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("\ncsi_proxy_smb_mappings{state=\"unlinked\"} 700\n"));
  EXPECT_THAT(text, HasSubstr("\ncsi_proxy_smb_mappings{state=\"unknown\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("\ncsi_proxy_smb_links 4\n"));
  metrics_->SetGauges({.connections = nullptr, .queued = nullptr, .shares = [] {
                         return std::optional<groups::ShareCounts>();
                       }});
  EXPECT_THAT(Scrape(port_), Not(HasSubstr("csi_proxy_smb_")));
  metrics_->SetGauges({});
  EXPECT_THAT(Scrape(port_), Not(HasSubstr("csi_proxy_connections")));
}

TEST_F(MetricsTest, FlagsAreReportedWithTheirDefaults) {
  metrics_->AddFlags({{"max-workers", 1, "16"}, {"keep-foreign-data", 0, "false"}});
  const std::string text = Scrape(port_);
  EXPECT_THAT(text, HasSubstr("csi_proxy_flag{default=\"16\",flag=\"max-workers\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("csi_proxy_flag{default=\"false\",flag=\"keep-foreign-data\"} 0\n"));
}

// Every fallback has a series from the start, because Prometheus sees no increase in a new series.
TEST_F(MetricsTest, EachFallbackIsCountedByItsName) {
  const std::string series = "\ncsi_proxy_fallbacks_total{fallback=\"";
  const auto expect_all = [&] {
    const std::string text = Scrape(port_);
    for (const FallbackFacts& facts : kFallbacks) {
      EXPECT_THAT(text, HasSubstr(absl::StrCat(series, facts.name, "\"} ",
                                               FallbackCount(facts.fallback), "\n")));
    }
  };
  EXPECT_EQ(FallbackCount(Fallback::kFewerVolumes), 0);
  expect_all();
  RecordFallback(Fallback::kFewerVolumes);
  EXPECT_EQ(FallbackCount(Fallback::kFewerVolumes), 1);
  expect_all();
}

// If each connection took a thread, and the server had eight, the silent connections would block
// the server for 64 seconds.
TEST_F(MetricsTest, SilentConnectionsDoNotBlockPrometheus) {
  std::vector<std::unique_ptr<http_testing::HttpConnection>> silent;
  for (size_t i = 0; i < 4 * HttpLimits().connections; ++i) {
    silent.push_back(std::make_unique<http_testing::HttpConnection>(port_));
  }
  const SteadyTime begin = SteadyTime::Now();
  EXPECT_THAT(Scrape(port_), HasSubstr("csi_proxy_build_info"));
  EXPECT_LT(SteadyTime::Now() - begin, absl::Seconds(60));
}

TEST_F(MetricsTest, TheAnswerHasPrometheusTextFormat) {
  http_testing::HttpConnection asks(port_);
  asks.Send("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
  const std::string answer = asks.ReadAll();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_EQ(http_testing::Get(port_, "/").code, 404);
}

TEST(MetricsServeTest, AnInvalidListenAddressIsAnError) {
  for (const char* address : {"nonsense", "9807", "127.0.0.1:99999", "203.0.113.1:1"}) {
    const auto metrics = Metrics::Serve("--flag", address, nullptr);
    ASSERT_FALSE(metrics.ok()) << address;
    EXPECT_TRUE(absl::IsInvalidArgument(metrics.status()));
    EXPECT_THAT(std::string(metrics.status().message()), StartsWith("--flag: "));
    EXPECT_THAT(std::string(metrics.status().message()), HasSubstr(address));
  }
}

#ifndef _WIN32
// 127.0.0.2 is a second address of this machine, except under Wine.
TEST(MetricsServeTest, APortWithoutAHostListensOnAllAddressesWithAWarning) {
  std::vector<std::string> warnings;
  const auto warn = [&](absl::string_view line) { warnings.emplace_back(line); };
  const auto own = Metrics::Serve("--flag", "127.0.0.1:0", warn);
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_FALSE(http_testing::HttpConnection((*own)->port(), "127.0.0.1", "127.0.0.2").ok());
  EXPECT_THAT(warnings, testing::IsEmpty());
  const auto all = Metrics::Serve("--flag", ":0", warn);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_TRUE(http_testing::HttpConnection((*all)->port(), "127.0.0.1", "127.0.0.2").ok());
  EXPECT_THAT(warnings, testing::ElementsAre(testing::AllOf(
                            StartsWith("--flag: anybody who reaches port "),
                            HasSubstr(absl::StrCat("give 127.0.0.1:", (*all)->port(), " ")))));
}
#endif

}  // namespace
}  // namespace csi_proxy::observability
