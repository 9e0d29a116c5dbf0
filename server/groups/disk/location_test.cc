#include "server/groups/disk/location.h"

#include "gtest/gtest.h"

namespace csi_proxy::disk {
namespace {

TEST(ParseLocationTest, ReadsTheFourNumbersWhereverTheyStand) {
  const DiskLocation expected{.adapter = "0", .bus = "1", .target = "2", .lun_id = "63"};
  EXPECT_EQ(ParseLocation("Integrated : Adapter 0 : Port 1 : Target 2 : LUN 63"), expected);
  EXPECT_EQ(ParseLocation("PCI Slot 4 : Bus 0 : Device 30 : Function 7 : Adapter 0 : Port 1 : "
                          "Target 2 : LUN 63"),
            expected);
  EXPECT_EQ(ParseLocation("Adapter 0:Port 01:Target 2:LUN 63"), expected);
}

TEST(ParseLocationTest, GivesNothingForAllElse) {
  for (const char* text :
       {"", "Integrated", "Integrated : Bus 0 : Device 30", "Adapter 0 : Port 1",
        "Adapter x : Port 0 : Target 0 : LUN 0", "Adapter 0 : Port 0 : Target 0 : LUN 4294967296",
        "Adapter 0 : Port 0 : Target 0 : LUN -1", ":::", "LUN 0"}) {
    EXPECT_FALSE(ParseLocation(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace csi_proxy::disk
