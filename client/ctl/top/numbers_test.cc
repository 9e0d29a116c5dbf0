#include "client/ctl/top/numbers.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl::top {
namespace {

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
csi_proxy_start_time_seconds 1000
csi_proxy_api_calls_total{client_image="a.exe",group="disk",version="v1"} 12
csi_proxy_client_limited_total{client_image="a.exe",limit="queue"} 5
csi_proxy_fallbacks_total{fallback="open-repeated"} 4
csi_proxy_long_call_seconds{rpc="volume.UnmountVolume",object="volume_id=1"} 75
)";

TEST(NumbersTest, TheServicesMetricsAreRead) {
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
  EXPECT_EQ(numbers->long_calls.at({"volume.UnmountVolume", "volume_id=1"}), 75);
  EXPECT_EQ(numbers->in_flight.at("disk"), 1);
  EXPECT_EQ(numbers->queued.at("disk"), 0);
  EXPECT_EQ(numbers->connections.at("live"), 3);
  EXPECT_EQ(numbers->started, absl::FromUnixSeconds(1000));
}

TEST(NumbersTest, AnotherProgramsMetricsAreNotTaken) {
  EXPECT_TRUE(absl::IsInvalidArgument(ReadNumbers("go_goroutines 8\n").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadNumbers("").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadNumbers("<html>").status()));
}

TEST(NumbersTest, CountsThatCannotBeAreLeftOut) {
  const auto numbers = ReadNumbers(
      "csi_proxy_calls_queued{group=\"a\"} NaN\ncsi_proxy_calls_queued{group=\"b\"} -1\n"
      "csi_proxy_calls_queued{group=\"c\"} +Inf\ncsi_proxy_calls_queued{group=\"d\"} 2\n");
  ASSERT_TRUE(numbers.ok());
  EXPECT_EQ(numbers->queued, (std::map<std::string, double>{{"d", 2}}));
}

TEST(NumbersTest, BetweenTwoMomentsCountsGrowAndTheRestIsOfTheLater) {
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

TEST(NumbersTest, AServiceThatBeganAnewCountsFromItsBeginning) {
  const Numbers before = *ReadNumbers(kExposition);
  Numbers now = before;
  now.rpcs["v1.Disk/Rescan"].finished = 5;
  EXPECT_EQ(Since(before, now).rpcs.at("v1.Disk/Rescan").finished, 5) << "less than before";
  // Higher than before, although the service has restarted.
  now.rpcs["v1.Disk/Rescan"].finished = 50;
  now.started = absl::FromUnixSeconds(2000);
  EXPECT_EQ(Since(before, now).rpcs.at("v1.Disk/Rescan").finished, 50);
}

// Prometheus interpolates linearly within a bucket. The lower bound of the first bucket is 0. For
// values in the last bucket, it returns the second highest bound.
TEST(QuantileTest, IsThatOfPrometheus) {
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

}  // namespace
}  // namespace csi_proxy::ctl::top
