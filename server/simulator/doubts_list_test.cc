// Compares server/host/doubts.md with the tests that show the simulated machine to do as its claims
// have it, so that neither changes alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace csi_proxy::machine::simulated {
namespace {

// Doubts that tests of other files show, by the folder below server/simulator, the suite and the
// name.
struct ElsewhereShown {
  int doubt;
  const char* file;
  const char* suite;
  const char* name;
};
constexpr ElsewhereShown kElsewhere[] = {
    {3, "wmi/instances_test.cc", "InstancesTest", "SmbMappings"},
    {3, "wmi/remote_methods_test.cc", "RemoteMethodsTest", "MapsAndUnmaps"},
    {7, "win32/os_double_test.cc", "OsDoubleTest", "AsksVolumes"},
    // Stricter: the calls want the directory for themselves.
    {8, "win32/sharing_test.cc", "SharingTest", "MountCallsWantTheDirectoryForThemselves"},
    {8, "win32/sharing_test.cc", "SharingTest", "MountCallsMayShareReadingAndWriting"},
    {16, "win32/strict_test.cc", "StrictWin32Test",
     "AFileSystemStaysAsItWasMountedUntilItIsDismounted"},
    // In the error object.
    {18, "wmi/remote_methods_test.cc", "RemoteMethodsTest", "RefusedMappings"},
    {18, "wmi/remote_methods_test.cc", "RemoteMethodsTest", "AServerIsKnownByOneUser"},
    {19, "wmi/remote_methods_test.cc", "RemoteMethodsTest", "Portals"},
    {19, "wmi/remote_methods_test.cc", "RemoteMethodsTest", "Authentication"},
    {25, "win32/os_double_test.cc", "OsDoubleTest", "MountsEndWhereTheVolumeIsGone"},
    {27, "win32/strict_test.cc", "StrictWin32Test", "ADiskTellsItsPartitionsAndItsNewSize"},
    {30, "win32/sharing_test.cc", "SharingTest", "ThePosixWayANameGoesWithTheHandleThatDeletedIt"},
    // A read-only file among them.
    {30, "win32/file_double_test.cc", "FileDoubleTest", "DeletesFilesAndEmptyDirectories"},
    {33, "wmi/storage_methods_test.cc", "StorageMethodsTest", "OnlineAndOffline"},
    {33, "wmi/storage_methods_test.cc", "StorageMethodsTest", "AFormatSetsTheLabelAndMakesWell"},
    // The port as the number that WMI's schema has; VT_I4 is COM's form of it.
    {34, "wmi/remote_methods_test.cc", "RemoteMethodsTest", "ConnectsAndDisconnects"},
    {34, "wmi/remote_methods_test.cc", "RemoteMethodsTest", "Portals"},
    {69, "wmi/remote_methods_test.cc", "TwoPortalsTest", "SessionsByTwoPortals"},
    {70, "wmi/remote_methods_test.cc", "TwoPortalsTest",
     "WithoutMpioASecondSessionBringsTheDiskAgain"},
    {71, "wmi/remote_methods_test.cc", "TwoPortalsTest", "SessionsByTwoPortals"},
    {72, "wmi/remote_methods_test.cc", "TwoPortalsTest", "WithMpioTheDiskIsOne"},
    {73, "machine_test.cc", "MachineTest", "ARebootKeepsWhatIsOnDisksAndLosesWhatIsInMemory"},
    // Where the scenario lets Windows keep a disk.
    {37, "wmi/strict_test.cc", "StrictWmiTest", "AnOpenFileMayKeepADiskOnline"},
    {74, "machine_test.cc", "MachineTest", "TellsWhenADeviceComes"},
    {75, "win32/file_double_test.cc", "FileDoubleTest",
     "OpensAnEntryFurtherDownUnlessALinkIsOnTheWay"},
};

// Doubts that the double cannot express.
struct NotExpressed {
  int doubt;
  const char* reason;
};
constexpr NotExpressed kNotExpressed[] = {
    {6, "the double has values of CIM; COM's forms of them are behind it only under Wine"},
    {40, "every disk of the double has sectors of 512 bytes"},
};

std::string Read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(CSI_PROXY_SOURCE_DIR "/" + path).rdbuf();
  EXPECT_NE(text.str(), "") << path;
  return text.str();
}

// The numbers in the tables of disks, of files and of WMI.
std::set<int> Listed() {
  const std::set<std::string> tables = {"## Disks and volumes", "## Mounts, files and links",
                                        "## WMI, SMB and iSCSI"};
  std::set<int> doubts;
  std::set<std::string> seen;
  std::string section;
  for (const absl::string_view line : absl::StrSplit(Read("server/host/doubts.md"), '\n')) {
    if (absl::StartsWith(line, "## ")) section = std::string(line);
    if (!tables.contains(section)) continue;
    seen.insert(section);
    const std::vector<absl::string_view> cells = absl::StrSplit(line, '|');
    int number = 0;
    if (cells.size() > 2 && absl::SimpleAtoi(cells[1], &number)) doubts.insert(number);
  }
  EXPECT_EQ(seen, tables);
  return doubts;
}

// The doubts of the tests of doubts_test.cc, whose names begin with D.
std::set<int> Tested() {
  constexpr size_t kDigits = 2;
  std::set<int> doubts;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    if (absl::string_view(suite.name()) != "DoubtsTest") continue;
    for (int i = 0; i < suite.total_test_count(); ++i) {
      absl::string_view name = suite.GetTestInfo(i)->name();
      int number = 0;
      EXPECT_TRUE(absl::ConsumePrefix(&name, "D")) << name;
      EXPECT_TRUE(absl::SimpleAtoi(name.substr(0, kDigits), &number)) << name;
      EXPECT_TRUE(doubts.insert(number).second) << number << " twice";
    }
  }
  return doubts;
}

TEST(DoubtsListTest, EveryDoubtIsShownOrHasItsReason) {
  std::set<int> elsewhere;
  for (const ElsewhereShown& shown : kElsewhere) elsewhere.insert(shown.doubt);
  std::set<int> not_expressed;
  for (const NotExpressed& doubt : kNotExpressed) {
    EXPECT_NE(absl::string_view(doubt.reason), "");
    EXPECT_TRUE(not_expressed.insert(doubt.doubt).second) << doubt.doubt << " twice";
  }
  std::map<int, int> places;
  for (const std::set<int>& place : {Tested(), elsewhere, not_expressed}) {
    for (const int doubt : place) ++places[doubt];
  }
  const std::set<int> listed = Listed();
  EXPECT_GT(listed.size(), 20);
  for (const int doubt : listed) {
    EXPECT_EQ(places[doubt], 1) << "doubt " << doubt
                                << " is shown, or explained, in so many places";
  }
  for (const auto& [doubt, count] : places) {
    EXPECT_TRUE(listed.contains(doubt)) << "doubt " << doubt << " is in no table of doubts.md";
  }
}

TEST(DoubtsListTest, TheTestsOfOtherFilesAreThere) {
  for (const ElsewhereShown& shown : kElsewhere) {
    EXPECT_TRUE(absl::StrContains(Read(absl::StrCat("server/simulator/", shown.file)),
                                  absl::StrCat("TEST_F(", shown.suite, ", ", shown.name, ")")))
        << shown.name;
  }
}

}  // namespace
}  // namespace csi_proxy::machine::simulated
