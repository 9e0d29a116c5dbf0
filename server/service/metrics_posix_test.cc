#include <gtest/gtest.h>

#include "server/http/http_testing.h"
#include "server/service/metrics.h"

namespace csi_proxy::service {
namespace {

// Except under Wine, 127.0.0.0/8 has many addresses, all of this machine.
TEST(MetricsServeTest, APortAloneIsThisMachinesOnly) {
  const auto metrics = Metrics::Serve("address", ":0");
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  const int port = (*metrics)->port();
  EXPECT_EQ(http_testing::Get(port, "/metrics").code, 200);
  EXPECT_FALSE(http_testing::HttpConnection(port, "127.0.0.1", "127.0.0.2").ok());
  const auto all = Metrics::Serve("address", "0.0.0.0:0");
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_TRUE(http_testing::HttpConnection((*all)->port(), "127.0.0.1", "127.0.0.2").ok());
}

}  // namespace
}  // namespace csi_proxy::service
