#include "client/ctl/top/numbers.h"

#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl::top {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

constexpr char kExposition[] = R"(# TYPE exposer_request_latencies summary
exposer_request_latencies{quantile="0.5"} NaN
grpc_server_started_total{grpc_method="Rescan",grpc_service="v1.Disk",grpc_type="unary"} 13
grpc_server_handled_total{grpc_code="OK",grpc_method="Rescan",grpc_service="v1.Disk",grpc_type="unary"} 10
grpc_server_handled_total{grpc_code="Internal",grpc_method="Rescan",grpc_service="v1.Disk",grpc_type="unary"} 2
grpc_server_handling_seconds_count{grpc_method="Rescan",grpc_service="v1.Disk",grpc_type="unary"} 12
grpc_server_handling_seconds_bucket{grpc_method="Rescan",grpc_service="v1.Disk",grpc_type="unary",le="0.001"} 4
grpc_server_handling_seconds_bucket{grpc_method="Rescan",grpc_service="v1.Disk",grpc_type="unary",le="+Inf"} 12
csi_proxy_calls_in_flight{group="disk"} 1
csi_proxy_calls_queued{group="disk"} 0
csi_proxy_connections{state="live"} 3
process_start_time_seconds 1000
csi_proxy_api_calls_total{client_image="a.exe",group="disk",version="v1"} 12
csi_proxy_client_limited_total{client_image="a.exe",limit="queue"} 5
csi_proxy_fallbacks_total{fallback="open-repeated"} 4
csi_proxy_long_call_seconds{rpc="volume.UnmountVolume"} 75
)";

TEST(NumbersTest, ReadNumbersParsesTheServicesMetrics) {
  const auto numbers = ReadNumbers(kExposition);
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  ASSERT_EQ(numbers->rpcs.size(), 1);
  const RpcNumbers& rpc = numbers->rpcs.at("v1.Disk/Rescan");
  EXPECT_EQ(rpc.finished, 12);
  EXPECT_EQ(rpc.failed, 2);
  EXPECT_EQ(rpc.within, (std::map<double, double>{{0.001, 4}, {kInfinite, 12}}));
  EXPECT_EQ(numbers->callers, (std::map<Caller, double>{{{"a.exe", "disk", "v1"}, 12}}));
  EXPECT_EQ(numbers->limited.at({"a.exe", "queue"}), 5);
  EXPECT_EQ(numbers->fallbacks, (std::map<std::string, double>{{"open-repeated", 4}}));
  EXPECT_EQ(numbers->long_calls.at("volume.UnmountVolume"), 75);
  EXPECT_EQ(numbers->in_flight.at("disk"), 1);
  EXPECT_EQ(numbers->queued.at("disk"), 0);
  EXPECT_EQ(numbers->connections.at("live"), 3);
  EXPECT_EQ(numbers->started, absl::FromUnixSeconds(1000));
}

TEST(NumbersTest, MetricsOfAnotherProgramAreRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(ReadNumbers("go_goroutines 8\n").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadNumbers("").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadNumbers("<html>").status()));
}

TEST(NumbersTest, ImpossibleCountsAreIgnored) {
  const auto numbers = ReadNumbers(
      "csi_proxy_calls_queued{group=\"a\"} NaN\ncsi_proxy_calls_queued{group=\"b\"} -1\n"
      "csi_proxy_calls_queued{group=\"c\"} +Inf\ncsi_proxy_calls_queued{group=\"d\"} 2\n");
  ASSERT_TRUE(numbers.ok());
  EXPECT_EQ(numbers->queued, (std::map<std::string, double>{{"d", 2}}));
}

TEST(NumbersTest, SinceSubtractsCountersAndKeepsTheLaterGauges) {
  const Numbers before = *ReadNumbers(kExposition);
  Numbers now = before;
  now.rpcs["v1.Disk/Rescan"].finished = 20;
  now.rpcs["v1.Disk/Rescan"].failed = 3;
  now.rpcs["v1.Disk/Rescan"].within = {{0.001, 10}, {kInfinite, 20}};
  now.rpcs["v1.Disk/ListDiskIDs"].finished = 7;
  now.callers[{"a.exe", "disk", "v1"}] = 15;
  now.callers[{"b.exe", "disk", "v1"}] = 1;
  now.in_flight["disk"] = 4;
  const Numbers grown = Since(before, now);
  EXPECT_EQ(grown.rpcs.at("v1.Disk/Rescan").finished, 8);
  EXPECT_EQ(grown.rpcs.at("v1.Disk/Rescan").failed, 1);
  EXPECT_EQ(grown.rpcs.at("v1.Disk/Rescan").within,
            (std::map<double, double>{{0.001, 6}, {kInfinite, 8}}));
  EXPECT_EQ(grown.rpcs.at("v1.Disk/ListDiskIDs").finished, 7);
  EXPECT_EQ(grown.callers.at({"a.exe", "disk", "v1"}), 3);
  EXPECT_EQ(grown.callers.at({"b.exe", "disk", "v1"}), 1);
  EXPECT_EQ(grown.limited.at({"a.exe", "queue"}), 0);
  EXPECT_EQ(grown.in_flight.at("disk"), 4);
}

TEST(NumbersTest, CountersOfARestartedServiceStartAtZero) {
  const Numbers before = *ReadNumbers(kExposition);
  Numbers now = before;
  now.rpcs["v1.Disk/Rescan"].finished = 5;
  EXPECT_EQ(Since(before, now).rpcs.at("v1.Disk/Rescan").finished, 5) << "less than before";
  // The counter is higher than before, although the service has restarted.
  now.rpcs["v1.Disk/Rescan"].finished = 50;
  now.started = absl::FromUnixSeconds(2000);
  EXPECT_EQ(Since(before, now).rpcs.at("v1.Disk/Rescan").finished, 50);
}

// Prometheus interpolates linearly within a bucket. The lower bound of the first bucket is 0. For
// values in the last bucket, it returns the second highest bound.
TEST(QuantileTest, QuantileInterpolatesLikePrometheus) {
  const std::map<double, double> within = {{0.1, 10}, {0.3, 20}, {1, 20}, {kInfinite, 20}};
  EXPECT_DOUBLE_EQ(Quantile(within, 0.5), 0.1);
  EXPECT_DOUBLE_EQ(Quantile(within, 0.25), 0.05);
  EXPECT_DOUBLE_EQ(Quantile(within, 0.75), 0.2);
  EXPECT_DOUBLE_EQ(Quantile(within, 1), 0.3);
  EXPECT_DOUBLE_EQ(Quantile({{0.1, 1}, {1, 1}, {kInfinite, 100}}, 0.99), 1);
  EXPECT_EQ(Quantile({}, 0.5), 0);
  EXPECT_EQ(Quantile({{1, 0}, {kInfinite, 0}}, 0.5), 0);
  EXPECT_EQ(Quantile({{kInfinite, 3}}, 0.5), 0) << "nothing is known of the time";
}

// A flood of refused calls would hide how long the other calls take.
TEST(QuantileTest, QuantilesIgnoreRefusedCalls) {
  const Numbers numbers = *ReadNumbers(
      "csi_proxy_calls_queued{group=\"a\"} 0\n"
      "grpc_server_handled_total{grpc_service=\"s\",grpc_method=\"m\",grpc_code=\"OK\"} 4\n"
      "grpc_server_handled_total{grpc_service=\"s\",grpc_method=\"m\","
      "grpc_code=\"ResourceExhausted\"} 96\n"
      "grpc_server_handling_seconds_bucket{grpc_service=\"s\",grpc_method=\"m\",le=\"0.001\"} 90\n"
      "grpc_server_handling_seconds_bucket{grpc_service=\"s\",grpc_method=\"m\",le=\"3\"} 96\n"
      "grpc_server_handling_seconds_bucket{grpc_service=\"s\",grpc_method=\"m\",le=\"6\"} 100\n"
      "grpc_server_handling_seconds_bucket{grpc_service=\"s\",grpc_method=\"m\",le=\"+Inf\"} "
      "100\n");
  const RpcNumbers& rpc = numbers.rpcs.at("s/m");
  EXPECT_EQ(rpc.refused, 96);
  EXPECT_DOUBLE_EQ(Quantile(rpc.RanWithin(), 0.5), 4.5);
}

struct Read {
  absl::Status status;
  std::vector<Sample> samples;
};

Read ReadAll(absl::string_view text) {
  Read read;
  read.status = ReadExposition(text, [&](const Sample& sample) { read.samples.push_back(sample); });
  return read;
}

TEST(ParseMetricsAddressTest, AnAddressWithoutAHostMeansThisMachine) {
  EXPECT_EQ(*ParseMetricsAddress(":9090"), (HostPort{"127.0.0.1", 9090}));
}

// The example in https://prometheus.io/docs/instrumenting/exposition_formats/, shortened.
TEST(ExpositionTest, TheParserReadsTheExampleOfThePrometheusPage) {
  const Read read = ReadAll(R"(# HELP http_requests_total The total number of HTTP requests.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
http_requests_total{method="post",code="400"}    3 1395066363000

# Escaping in label values:
msdos_file_access_time_seconds{path="C:\\DIR\\FILE.TXT",error="Cannot find file:\n\"FILE.TXT\""} 1.458255915e9

# Minimalistic line:
metric_without_timestamp_and_labels 12.47

# A weird metric from before the epoch:
something_weird{problem="division by zero"} +Inf -3982045

http_request_duration_seconds_bucket{le="+Inf"} 144320
)");
  ASSERT_TRUE(read.status.ok()) << read.status;
  ASSERT_EQ(read.samples.size(), 6);
  EXPECT_EQ(read.samples[0].name, "http_requests_total");
  EXPECT_THAT(read.samples[0].labels, ElementsAre(Pair("code", "200"), Pair("method", "post")));
  EXPECT_EQ(read.samples[0].value, 1027);
  EXPECT_EQ(read.samples[1].value, 3);
  EXPECT_EQ(read.samples[2].Label("path"), R"(C:\DIR\FILE.TXT)");
  EXPECT_EQ(read.samples[2].Label("error"), "Cannot find file:\n\"FILE.TXT\"");
  EXPECT_EQ(read.samples[2].Label("nonesuch"), "");
  EXPECT_EQ(read.samples[2].value, 1458255915);
  EXPECT_THAT(read.samples[3].labels, IsEmpty());
  EXPECT_EQ(read.samples[3].value, 12.47);
  EXPECT_TRUE(std::isinf(read.samples[4].value));
  EXPECT_EQ(read.samples[5].Label("le"), "+Inf");
}

TEST(ExpositionTest, TheParserAcceptsOptionalSpacesAndLineEnds) {
  EXPECT_TRUE(ReadAll("").status.ok());
  EXPECT_EQ(ReadAll("a 1").samples.size(), 1) << "without a line's end";
  EXPECT_EQ(ReadAll("a 1\r\n\tb\t2 \r\n").samples.size(), 2);
  const Read read = ReadAll("a { b = \"c\" , d=\"}\" , } 1\n");
  ASSERT_TRUE(read.status.ok()) << read.status;
  EXPECT_THAT(read.samples[0].labels, ElementsAre(Pair("b", "c"), Pair("d", "}")));
  EXPECT_TRUE(ReadAll("a{} NaN").status.ok());
}

TEST(ExpositionTest, TheErrorNamesTheMalformedLine) {
  for (const char* line :
       {"a", "a ", "1 2", "a b", "a 1 2 3", "a 1 b", "a{ 1", "a{b} 1", "a{b=c} 1", "a{b=\"c} 1",
        "a{b=\"c\" 1", "a{b=\"c\"d=\"e\"} 1", "a{b=\"\\x\"} 1", "a{b=\"\\", "a{,} 1",
        "a{b=\"c\",b=\"d\"} 1", "<html>", "a{b=\"c\"}", "\"a\" 1"}) {
    const Read read = ReadAll(absl::StrCat("good 1\n", line, "\nafter 1\n"));
    EXPECT_TRUE(absl::IsInvalidArgument(read.status)) << line;
    EXPECT_TRUE(absl::StrContains(read.status.message(), "line 2 ")) << read.status;
    EXPECT_EQ(read.samples.size(), 1) << line;
  }
}

}  // namespace
}  // namespace csi_proxy::ctl::top
