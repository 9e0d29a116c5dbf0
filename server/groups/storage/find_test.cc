#include <map>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "server/groups/storage/stage_testing.h"

namespace csi_proxy::storage {
namespace {

using groups::kGiB;
using testing::HasSubstr;

using FindTest = StageTest;

TEST_F(FindTest, ANewlyAttachedDiskIsFoundByARescan) {
  Disk disk;
  disk.size_bytes = kGiB;
  disk.serial_number = "fresh";
  disk.awaits_rescan = true;
  ASSERT_TRUE(node_->AttachDisk(disk).ok());
  const auto staged = Stage({.serial_number = " fresh "});
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(staged->steps.front(), StorageStep::kRescanned);
}

TEST_F(FindTest, TheErrorNamesAFailedRescan) {
  Inject("wmi.Invoke/MSFT_StorageSetting.UpdateHostStorageCache", 5);
  const absl::Status refused = Stage({.serial_number = "vol-none"}).status();
  EXPECT_THAT(std::string(refused.message()), HasSubstr("rescanning failed")) << refused;
}

// The cloud may be slower than the rescan.
TEST_F(FindTest, StageVolumeWaitsForADiskThatArrivesLate) {
  std::thread cloud([&] {
    absl::SleepFor(absl::Milliseconds(300));
    Disk disk;
    disk.size_bytes = kGiB;
    disk.serial_number = "late";
    EXPECT_TRUE(node_->AttachDisk(disk).ok());
  });
  const auto staged = Stage({.serial_number = "late"});
  cloud.join();
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(staged->steps.front(), StorageStep::kRescanned);
}

TEST_F(FindTest, ADiskThatDoesNotArriveIsNotFound) {
  // virtio-blk reports the first 20 characters.
  ChangeDisk(1, [](Disk& disk) { disk.serial_number = "5b1c"; });
  ChangeDisk(2, [](Disk& disk) { disk.serial_number = "5b1c9d52-7e0f-4a66-9"; });
  const absl::Time begin = absl::Now();
  const absl::Status absent =
      Stage({.serial_number = "5b1c9d52-7e0f-4a66-9d1b-000000000001"}).status();
  EXPECT_TRUE(absl::IsNotFound(absent)) << absent;
  EXPECT_THAT(std::string(absent.message()),
              HasSubstr("disk.serial_number: no disk has \"5b1c9d52-7e0f-4a66-9d1b-000000000001\"; "
                        "the serial number of disk 2 is a prefix of it, "
                        "\"5b1c9d52-7e0f-4a66-9\": "));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(20));
  // The wait ends at the caller's deadline.
  const CallContext hurried = context_.WithTimeout(absl::Milliseconds(50));
  const absl::Status over =
      storage_->StageVolume(hurried, {.disk = {.number = "77"}, .target_path = Target()}).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(over)) << over;
}

TEST_F(FindTest, ADiskIsFoundByEachOfItsIdentifiers) {
  const struct {
    DiskSelector selector;
    uint32_t number;
  } rows[] = {
      {{.number = "3"}, 3},
      {{.serial_number = "vol0a1b2c3d4e5f60789"}, 2},
      {{.page83 = "Google  pvc-1f2e3d4c"}, 3},
      {{.lun_id = "2"}, 3},
      {{.lun_id = "0", .adapter = "3"}, 1},
      {{.lun_id = "0", .adapter = "3", .bus = "0", .target = "0"}, 1},
  };
  int n = 0;
  for (const auto& row : rows) {
    const auto staged = Stage(row.selector, Below(absl::StrCat("m", n++)));
    ASSERT_TRUE(staged.ok()) << staged.status();
    EXPECT_EQ(staged->disk_number, row.number);
  }
}

// EC2 appends the number of the namespace.
TEST_F(FindTest, ASerialNumberMatchesWithTheNamespaceThatEc2Appends) {
  const std::string serial = "vol0a1b2c3d4e5f60789";
  const std::pair<std::string, std::string> others[] = {
      {serial + "_00000001", serial},
      {serial + "_0000001.", serial},
      {serial + "_000000001.", serial},
      {serial + "_0000000g.", serial},
      {serial + "-00000001.", serial},
      {serial + "00000001.", serial},
      {serial + "_00000001.", "vol0a1b2c3d4e5f6078"},
      {serial + "_00000001.", serial + "_00000002."}};
  for (const auto& [real, asked] : others) {
    ChangeDisk(2, [real = real](Disk& disk) { disk.serial_number = real; });
    const CallContext hurried = context_.WithTimeout(absl::Milliseconds(200));
    EXPECT_FALSE(
        storage_->StageVolume(hurried, {.disk = {.serial_number = asked}, .target_path = Target()})
            .ok());
    EXPECT_TRUE(DiskNow(2).partitions.empty()) << real << " " << asked;
  }
  for (const char* suffix : {"_00000001.", "_0000000a.", "_0000000A."}) {
    ChangeDisk(2, [&](Disk& disk) { disk.serial_number = serial + suffix; });
    for (const std::string& asked : {serial, serial + suffix}) {
      const auto staged = Stage({.serial_number = asked});
      ASSERT_TRUE(staged.ok()) << staged.status();
      EXPECT_EQ(staged->disk_number, 2u);
    }
  }
}

TEST_F(FindTest, APartOfAnIdentifierMatchesNoDisk) {
  const std::string before = Everything();
  for (const DiskSelector& selector :
       {DiskSelector{.serial_number = "vol0a1b2c3d4e5f6078"},
        DiskSelector{.serial_number = "VOL0A1B2C3D4E5F60789"},
        DiskSelector{.page83 = "pvc-1f2e3d4c"}, DiskSelector{.lun_id = "2", .target = "0"},
        DiskSelector{.lun_id = "2", .bus = "7"}, DiskSelector{.lun_id = "2", .adapter = "7"}}) {
    const CallContext hurried = context_.WithTimeout(absl::Milliseconds(50));
    EXPECT_FALSE(storage_->StageVolume(hurried, {.disk = selector, .target_path = Target()}).ok());
    EXPECT_EQ(Everything(), before);
  }
}

TEST_F(FindTest, TheErrorNamesAllDisksThatMatch) {
  // Disks 1 and 9 have LUN 0. So has Windows' disk 0, but the call must not select it.
  Disk other;
  other.size_bytes = kGiB;
  other.location = "Integrated : Adapter 4 : Port 0 : Target 0 : LUN 0";
  ASSERT_TRUE(node_->AttachDisk(other, 9).ok());
  const absl::Status refused = Refused(1, {.lun_id = "0"});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("disk.lun_id: "));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("1, 9"));
}

class AzureNvmeTest : public StageTest {
 protected:
  AzureNvmeTest() : StageTest("azure-nvme") {
    for (const uint32_t lun : {0u, 1u, 5u}) {
      Disk disk = DiskNow(0);
      disk.partitions.clear();
      disk.style = machine::simulator::PartitionStyle::kRaw;
      disk.facts.eui = absl::StrCat("577f8d0aff944fa3b6e5a7ff4d36601", lun);
      disk.facts.lun = lun + 1;
      EXPECT_TRUE(node_->AttachDisk(disk, 10 + lun).ok());
    }
    // All disks have arrived after a reboot.
    node_->Reboot();
  }

  std::map<uint32_t, std::string> Luns() {
    const auto locations = disk_->ListDiskLocations(context_, {});
    EXPECT_TRUE(locations.ok()) << locations.status();
    std::map<uint32_t, std::string> luns;
    for (const auto& [number, location] : locations->disk_locations) {
      EXPECT_NE(location.adapter, "");
      luns[number] = location.lun_id;
    }
    return luns;
  }
};

// Windows addresses the disk of Azure's LUN 0 as 1, because its own disk is 0.
TEST_F(AzureNvmeTest, ADataDiskHasTheLunOfAzureAndNotOfWindows) {
  const std::map<uint32_t, std::string> luns = {{0, ""}, {1, ""}, {10, "0"}, {11, "1"}, {15, "5"}};
  EXPECT_EQ(Luns(), luns);
  const auto disks = storage_->ListDisks(context_, {});
  ASSERT_TRUE(disks.ok()) << disks.status();
  for (const DiskInfo& disk : disks->disks) EXPECT_EQ(disk.lun_id, luns.at(disk.number));
}

// All disks are on the adapter of Windows' disk.
TEST_F(AzureNvmeTest, ADiskIsFoundByItsAzureLunWithoutTheAdapter) {
  for (const uint32_t lun : {5u, 0u, 1u}) {
    const auto staged = Stage({.lun_id = absl::StrCat(lun)}, Below(absl::StrCat("m", lun)));
    ASSERT_TRUE(staged.ok()) << staged.status();
    EXPECT_EQ(staged->disk_number, 10 + lun);
  }
}

TEST_F(AzureNvmeTest, ADiskWhoseAddressCannotBeReadHasNoLun) {
  Fail("win32.Control", 0, 1);
  EXPECT_EQ(Luns().at(10), "");
}

TEST_F(FindTest, ErrorsNameTheFieldWithBadInput) {
  const struct {
    StageVolumeRequest request;
    const char* field;
  } rows[] = {
      {{}, "disk: "},
      {{.disk = {.number = "1", .lun_id = "1"}}, "disk: "},
      {{.disk = {.number = "1", .serial_number = "x"}}, "disk: "},
      {{.disk = {.number = "-1"}}, "disk.number: "},
      {{.disk = {.number = "4294967296"}}, "disk.number: "},
      {{.disk = {.number = " 1"}}, "disk.number: "},
      {{.disk = {.serial_number = "  "}}, "disk.serial_number: "},
      {{.disk = {.serial_number = "a\nb"}}, "disk.serial_number: "},
      {{.disk = {.page83 = std::string(1025, 'x')}}, "disk.page83: "},
      {{.disk = {.lun_id = "x"}}, "disk.lun_id: "},
      {{.disk = {.number = "1", .adapter = "0"}}, "disk.adapter: "},
      {{.disk = {.lun_id = "1", .bus = "x"}}, "disk.bus: "},
      {{.disk = {.serial_number = "x", .target = "1"}}, "disk.target: "},
      {{.disk = {.number = "1"}, .target_path = ""}, "target_path: "},
      {{.disk = {.number = "1"}, .target_path = Target(), .file_system = "ext4"}, "file_system: "},
      {{.disk = {.number = "1"}, .target_path = Target(), .allocation_unit_bytes = 1000},
       "allocation_unit_bytes: "},
  };
  for (const auto& row : rows) {
    const absl::Status bad = storage_->StageVolume(context_, row.request).status();
    EXPECT_TRUE(absl::IsInvalidArgument(bad)) << bad;
    EXPECT_TRUE(absl::StartsWith(bad.message(), row.field)) << bad;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(Unstage("x:y").status()));
  EXPECT_TRUE(absl::IsPermissionDenied(Unstage(R"(C:\Windows)").status()));
  EXPECT_TRUE(absl::IsPermissionDenied(Unstage(R"(C:\var\lib\kubelet)").status()));
  EXPECT_TRUE(absl::IsPermissionDenied(StageDisk(1, R"(C:\Windows\x)").status()));
}

}  // namespace
}  // namespace csi_proxy::storage
