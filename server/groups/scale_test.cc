// Counts the calls to Windows on a small and a large node. A look-up must make the same number of
// calls on both nodes, and a listing a fixed number per disk. A call may query WMI only a few
// times, because a query takes milliseconds.
#include <map>
#include <string>

#include "gtest/gtest.h"
#include "server/groups/testing/rpc_costs.h"

namespace csi_proxy::groups {
namespace {

TEST(ScaleTest, LookUpsCostTheSameOnAnyNodeAndListingsAFixedNumberPerDisk) {
  constexpr int kSmall = 10, kLarge = 100;
  ScaledNode small(kSmall), large(kLarge);
  std::map<std::string, int64_t> wmi;
  for (const RpcCost& rpc : RpcCosts()) {
    const auto few = CountsOf(rpc, small);
    const auto many = CountsOf(rpc, large);
    ASSERT_TRUE(few.ok() && many.ok()) << few.status() << many.status();
    constexpr int kMore = kLarge - kSmall;
    EXPECT_LE(many->win32_calls, few->win32_calls + rpc.win32 * kMore) << rpc.name;
    EXPECT_LE(many->wmi_objects, few->wmi_objects + rpc.wmi_objects * kMore) << rpc.name;
    EXPECT_EQ(many->wmi_calls, few->wmi_calls) << rpc.name;
    EXPECT_LE(few->wmi_calls, rpc.most_wmi_calls) << rpc.name;
    wmi[rpc.name] = few->wmi_calls;
  }
  // The life of a volume of aws-ebs, in the order of integration/drivers/orders. Each WMI call
  // needs two round trips. The Go release needs 111 round trips for this life.
  const int64_t life = 2 * wmi["ListDiskIDs"] + wmi["PartitionDisk"] + wmi["FormatVolume"] +
                       wmi["MountVolume"] + 3 * wmi["Rescan"] + wmi["ResizeVolume of a full disk"] +
                       wmi["ResizeVolume to the maximum"];
  EXPECT_LE(2 * life, 30);
}

}  // namespace
}  // namespace csi_proxy::groups
