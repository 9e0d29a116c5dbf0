#include "server/groups/fields.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/host/disk_description.h"

namespace csi_proxy::groups {
namespace {

using disk::DiskLocation;
using host::ParseLocation;

TEST(ParseLocationTest, TheFourNumbersAreFoundAnywhereInTheText) {
  const DiskLocation expected{.adapter = "0", .bus = "1", .target = "2", .lun_id = "63"};
  EXPECT_EQ(ParseLocation("Integrated : Adapter 0 : Port 1 : Target 2 : LUN 63"), expected);
  EXPECT_EQ(ParseLocation("Adapter 0:Port 01:Target 2:LUN 63"), expected);
}

TEST(ParseLocationTest, TheBusOverridesThePort) {
  const DiskLocation expected{.adapter = "0", .bus = "4", .target = "2", .lun_id = "63"};
  for (const char* text : {"PCI Slot 4 : Bus 4 : Device 30 : Function 7 : Adapter 0 : Port 1 : "
                           "Target 2 : LUN 63",
                           "Adapter 0 : Port 1 : Target 2 : LUN 63 : Bus 4"}) {
    EXPECT_EQ(ParseLocation(text), expected) << text;
  }
}

TEST(ParseLocationTest, MissingPartsAreEmpty) {
  EXPECT_EQ(ParseLocation("Integrated : Bus 0 : Device 30 : Function 0 : Adapter 1"),
            (DiskLocation{.adapter = "1", .bus = "0"}));
  EXPECT_EQ(ParseLocation("Adapter 0 : Port 1"), (DiskLocation{.adapter = "0", .bus = "1"}));
  EXPECT_EQ(ParseLocation("LUN 0"), (DiskLocation{.lun_id = "0"}));
  const DiskLocation rest{.adapter = "0", .bus = "0", .target = "0"};
  for (const char* lun : {"", "LUN", "LUN x", "LUN 4294967296", "LUN -1", "LUN 1 2"}) {
    EXPECT_EQ(ParseLocation(absl::StrCat("Adapter 0 : Port 0 : Target 0 : ", lun)), rest) << lun;
  }
}

TEST(ParseLocationTest, TextWithoutAnyOfTheFourNumbersHasNoLocation) {
  for (const char* text : {"", "Integrated", "Integrated : Device 30", "Adapter x",
                           ":::", "PCI Slot 3 : Bus x", "Business 1 : Portal 2"}) {
    EXPECT_EQ(ParseLocation(text), DiskLocation()) << text;
  }
}

}  // namespace
}  // namespace csi_proxy::groups
