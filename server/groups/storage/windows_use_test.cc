// Calls do not change disks that Windows or the node uses: see host/windows_use.h and ../README.md.
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/groups/storage/stage_testing.h"
#include "server/names/win32_error.h"

namespace csi_proxy::storage {
namespace {

using groups::kGiB;
using groups::kMiB;
using machine::simulator::DiskPartition;
using machine::simulator::PartitionStyle;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A node of Azure. Windows and the temporary disk D:, which has room to grow, are on adapter 0
// (kubernetes-sigs/azuredisk-csi-driver issue 2661). Data disks are on adapter 1. Disk 5 is an
// administrator's, disk 6 starts Windows, and disk 7 is on the adapter of disk 6.
constexpr char kAzure[] = R"(
  disk {
    number: 0 size_bytes: 68719476736 style: GPT serial_number: "os" page83: "page-os"
    location: "Integrated : Adapter 0 : Port 0 : Target 0 : LUN 0"
    partition { type: EFI_SYSTEM size_bytes: 104857600 }
    partition {
      size_bytes: 60000000000
      volume {
        id: "\\\\?\\Volume{00000000-c511-4c0d-9000-000000000001}\\" file_system: "NTFS"
        drive_letter: "C" file { path: "var\\lib\\kubelet\\plugins" } file { path: "data" }
      }
    }
  }
  disk {
    number: 1 size_bytes: 34359738368 style: MBR serial_number: "temp" page83: "page-temp"
    location: "Integrated : Adapter 0 : Port 0 : Target 0 : LUN 1"
    partition {
      size_bytes: 17179869184
      volume {
        id: "\\\\?\\Volume{00000000-c511-4c0d-9000-000000000002}\\" file_system: "NTFS"
        drive_letter: "D" file { path: "pagefile.sys" kind: FILE size_bytes: 1073741824 }
      }
    }
  }
  disk {
    number: 5 size_bytes: 8589934592 style: GPT serial_number: "admin" page83: "page-admin"
    location: "Integrated : Adapter 1 : Port 0 : Target 0 : LUN 5"
    partition {
      size_bytes: 4294967296
      volume {
        id: "\\\\?\\Volume{00000000-c511-4c0d-9000-000000000005}\\" file_system: "NTFS"
      }
    }
  }
  disk {
    number: 6 size_bytes: 8589934592 is_system: true serial_number: "boot" page83: "page-boot"
    location: "Integrated : Adapter 4 : Port 0 : Target 0 : LUN 6"
  }
  disk {
    number: 7 size_bytes: 8589934592 serial_number: "beside" page83: "page-beside"
    location: "Integrated : Adapter 4 : Port 0 : Target 0 : LUN 7"
  }
)";
constexpr char kTemporary[] = R"(\\?\Volume{00000000-c511-4c0d-9000-000000000002}\)";
constexpr char kAdmins[] = R"(\\?\Volume{00000000-c511-4c0d-9000-000000000005}\)";

class WindowsUseTest : public StageTest {
 protected:
  explicit WindowsUseTest(absl::string_view scenario = kAzure) : StageTest(scenario) {}

  // Returns a disk as the cloud attaches it.
  static Disk DataDisk(uint32_t lun) {
    Disk disk;
    disk.size_bytes = 4 * kGiB;
    disk.location = absl::StrCat("Integrated : Adapter 1 : Port 0 : Target 0 : LUN ", lun);
    return disk;
  }
  machine::simulator::Disk Numbered(uint32_t number) {
    for (const Disk& disk : node_->Snapshot().disks) {
      if (disk.number == number) return disk;
    }
    ADD_FAILURE() << "no disk " << number;
    return {};
  }
  void ChangeNumbered(uint32_t number, const std::function<void(Disk&)>& change) {
    Change([&](groups::NodeState& state) {
      for (Disk& disk : state.disks) {
        if (disk.number == number) change(disk);
      }
    });
  }
  // Mounts a volume as an administrator does, not as a driver does.
  absl::Status MountByHand(const std::string& volume, const std::string& path) {
    return machine::simulator::NewSimulatedOs(node_->core())->SetMountPoint(path + "\\", volume);
  }
  // Expects a refusal with these words and an unchanged node.
  void ExpectRefused(const std::function<absl::Status()>& call, const std::string& words) {
    const std::string before = Everything();
    const absl::Status refused = call();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(words));
    EXPECT_EQ(Everything(), before) << words;
  }
};

TEST_F(WindowsUseTest, TheTemporaryDiskIsNotStagedInPlaceOfALateDataDisk) {
  const std::string before = Everything();
  const absl::Status absent = Stage({.lun_id = "1"}).status();
  EXPECT_TRUE(absl::IsNotFound(absent)) << absent;
  EXPECT_THAT(std::string(absent.message()),
              HasSubstr("disk 1 is on adapter 0, like the disk of Windows"));
  EXPECT_EQ(Everything(), before);
}

TEST_F(WindowsUseTest, StageVolumeWaitsForADataDiskWithTheTemporaryDisksLun) {
  std::thread cloud([&] {
    // The disk arrives after the call has searched for it and made a rescan.
    const absl::Time end = absl::Now() + absl::Minutes(2);
    while (node_->CountCalls().wmi_calls < 2 && absl::Now() < end) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    EXPECT_TRUE(node_->AttachDisk(DataDisk(1), 2).ok());
  });
  const auto staged = Stage({.lun_id = "1"});
  cloud.join();
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(staged->disk_number, 2u);
  EXPECT_EQ(staged->steps.front(), StorageStep::kRescanned);
}

TEST_F(WindowsUseTest, ALunWithoutAnAdapterSelectsADataDisk) {
  ASSERT_TRUE(node_->AttachDisk(DataDisk(0), 2).ok());
  ASSERT_TRUE(node_->AttachDisk(DataDisk(1), 3).ok());
  for (const auto& [lun, number] : {std::pair("0", 2u), std::pair("1", 3u)}) {
    const auto staged = Stage({.lun_id = lun}, Below(lun));
    ASSERT_TRUE(staged.ok()) << staged.status();
    EXPECT_EQ(staged->disk_number, number);
  }
  // A selector with a LUN and a target, but no adapter, never selects the temporary disk either.
  const auto again = Stage({.lun_id = "1", .target = "0"}, Below("1"));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->disk_number, 3u);
}

// A selector with the adapter of Windows' disk selects the disks on that adapter. A letter on a
// disk never excludes the other disks of its adapter.
TEST_F(WindowsUseTest, ADiskOnTheSystemDisksAdapterIsFoundOnlyIfTheAdapterIsNamed) {
  const CallContext hurried = context_.WithTimeout(absl::Milliseconds(50));
  EXPECT_FALSE(
      storage_->StageVolume(hurried, {.disk = {.lun_id = "7"}, .target_path = Target()}).ok());
  EXPECT_TRUE(Numbered(7).partitions.empty());
  const auto staged = Stage({.lun_id = "7", .adapter = "4"});
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(staged->disk_number, 7u);
  ChangeNumbered(5, [](Disk& disk) { disk.partitions[0].volume->drive_letter = 'F'; });
  ASSERT_TRUE(node_->AttachDisk(DataDisk(3), 2).ok());
  EXPECT_TRUE(Stage({.lun_id = "3"}, Below("beside")).ok());
}

TEST_F(WindowsUseTest, ADiskThatWindowsUsesIsNotStagedByAnyIdentifier) {
  ASSERT_TRUE(MountByHand(kAdmins, R"(C:\data)").ok());
  const struct {
    uint32_t number;
    const char* name;
    const char* adapter;
    const char* lun;
    const char* words;
  } rows[] = {{0, "os", "0", "0", "disk: Windows runs on disk 0"},
              {1, "temp", "0", "1", "disk: disk 1 has a volume with drive letter D:"},
              {5, "admin", "1", "5", R"(disk: a volume of disk 5 is mounted at C:\data)"},
              {6, "boot", "4", "6", "disk: Windows boots from disk 6"}};
  for (const auto& row : rows) {
    for (const DiskSelector& selector :
         {DiskSelector{.number = absl::StrCat(row.number)}, DiskSelector{.serial_number = row.name},
          DiskSelector{.page83 = absl::StrCat("page-", row.name)},
          DiskSelector{.lun_id = row.lun, .adapter = row.adapter},
          DiskSelector{.lun_id = row.lun, .adapter = row.adapter, .bus = "0", .target = "0"}}) {
      ExpectRefused([&] { return Stage(selector).status(); }, row.words);
    }
    const CallContext hurried = context_.WithTimeout(absl::Milliseconds(50));
    const std::string before = Everything();
    EXPECT_FALSE(
        storage_->StageVolume(hurried, {.disk = {.lun_id = row.lun}, .target_path = Target()})
            .ok());
    EXPECT_EQ(Everything(), before);
    ExpectRefused(
        [&] {
          return storage_->SetDiskReadOnly(context_, {.disk_number = row.number, .read_only = true})
              .status();
        },
        row.number == 0 ? "disk_number: disk 0 has a volume with drive letter C:"
                        : std::string(absl::StripPrefix(row.words, "disk: ")));
  }
  // A selector with a bus may select a disk on the adapter of Windows' disk.
  ExpectRefused([&] { return Stage({.lun_id = "1", .bus = "0"}).status(); },
                "disk 1 has a volume with drive letter D:");
  for (const auto& [volume, words] :
       {std::pair(kSystemVolume, "volume_id: Windows runs on disk 0"),
        std::pair(kTemporary, "volume_id: disk 1 has a volume with drive letter D:"),
        std::pair(kAdmins, R"(volume_id: a volume of disk 5 is mounted at C:\data)")}) {
    ExpectRefused(
        [&] {
          return storage_->FormatVolume(context_, {.volume_id = volume, .overwrite = true})
              .status();
        },
        words);
  }
}

// The letter appears between the two checks of the disk.
TEST_F(WindowsUseTest, ADiskThatGetsALetterDuringTheCallIsRefused) {
  const auto refused = HeldUp(
      LockTarget(), 2, [this] { return StageDisk(5); },
      [&] { ChangeNumbered(5, [](Disk& d) { d.partitions[0].volume->drive_letter = 'F'; }); });
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("disk 5 has a volume with drive letter F:"));
}

// Windows assigns letters to new volumes on MBR disks. The repeated call finds all steps done and
// does not repeat any. UnstageVolume then keeps the disk online.
TEST_F(WindowsUseTest, AStagedVolumeThatGotALetterIsNotChanged) {
  ASSERT_TRUE(node_->AttachDisk(DataDisk(0), 2).ok());
  ASSERT_TRUE(StageDisk(2).ok());
  ChangeNumbered(2, [](Disk& disk) { disk.partitions.back().volume->drive_letter = 'F'; });
  ASSERT_TRUE(node_->GrowDisk(2, 8 * kGiB).ok());
  const auto again = StageDisk(2);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->steps, IsEmpty());
  ChangeNumbered(2, [](Disk& disk) { disk.read_only = true; });
  EXPECT_THAT(StageDisk(2)->steps, IsEmpty());
  EXPECT_TRUE(Numbered(2).read_only);
  ChangeNumbered(2, [](Disk& disk) { disk.read_only = false; });
  ChangeNumbered(2, [](Disk& disk) { disk.partitions.back().mounted_read_only = true; });
  EXPECT_THAT(StageDisk(2)->steps, IsEmpty());
  EXPECT_TRUE(Numbered(2).partitions.back().mounted_read_only);
  ExpectRefused([&] { return StageDisk(2, Below("other")).status(); },
                "disk 2 has a volume with drive letter F:");
  const auto unstaged = Unstage();
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_THAT(unstaged->steps, ElementsAre(StorageStep::kFlushed, StorageStep::kUnmounted,
                                           StorageStep::kRemovedDirectory));
  EXPECT_TRUE(Numbered(2).online);
  ASSERT_TRUE(Mkdir(Target()).ok());
  ASSERT_TRUE(MountByHand(kSystemVolume, Target()).ok());
  ExpectRefused([&] { return StageDisk(0).status(); }, "Windows runs on disk 0");
}

// A volume shows its letter only after it has arrived.
TEST_F(WindowsUseTest, ADiskThatShowsALetterWhenOnlineIsNeitherGrownNorFormatted) {
  ChangeNumbered(5, [](Disk& disk) {
    disk.online = false;
    disk.partitions[0].volume->drive_letter = 'F';
  });
  const auto staged = StageDisk(5);
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_THAT(staged->steps, ElementsAre(StorageStep::kBroughtOnline, StorageStep::kMadeDirectory,
                                         StorageStep::kMounted));
  EXPECT_EQ(Numbered(5).partitions[0].size_bytes, 4 * kGiB);
  ASSERT_TRUE(Unstage().ok());
  EXPECT_TRUE(Numbered(5).online);
  ChangeNumbered(5, [](Disk& disk) {
    disk.online = false;
    disk.partitions[0].volume->file_system = "";
    disk.partitions[0].volume->tree = {};
  });
  const absl::Status refused = StageDisk(5).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_EQ(refused.message(),
            "disk: disk 5 has a volume with drive letter F:, so the node uses it");
  EXPECT_EQ(Numbered(5).partitions[0].volume->file_system, "");
  EXPECT_FALSE(Numbered(5).online);
}

TEST_F(WindowsUseTest, UnstageVolumeKeepsADiskOnlineThatTheNodeUses) {
  ASSERT_TRUE(MountByHand(kAdmins, R"(C:\data)").ok());
  for (const char* volume : {kTemporary, kAdmins}) {
    ASSERT_TRUE(Mkdir(Target()).ok());
    ASSERT_TRUE(MountByHand(volume, Target()).ok());
    const auto unstaged = Unstage();
    ASSERT_TRUE(unstaged.ok()) << unstaged.status();
    EXPECT_THAT(unstaged->steps, ElementsAre(StorageStep::kFlushed, StorageStep::kUnmounted,
                                             StorageStep::kRemovedDirectory));
  }
  for (const uint32_t number : {1, 5}) EXPECT_TRUE(Numbered(number).online);
}

// The volume disappears between the two queries, so it is no longer in use.
TEST_F(WindowsUseTest, AVolumeThatVanishesDuringTheCheckDoesNotPreventStaging) {
  Fail("win32.ListMountPoints", 1, win32_error::kFileNotFound);
  const auto staged = StageDisk(5);
  EXPECT_TRUE(staged.ok()) << staged.status();
  EXPECT_TRUE(node_->Snapshot().faults.empty()) << "it struck";
}

// WMI does not show volumes or data partitions of a dynamic disk.
TEST_F(WindowsUseTest, ADynamicDiskStaysOnlineIfAnotherVolumeIsMounted) {
  Disk disk = DataDisk(0);
  disk.style = PartitionStyle::kGpt;
  const std::pair<const char*, std::string> mounts[] = {
      {R"(\\?\Volume{00000000-c511-4c0d-9000-000000000021}\)", Target()},
      {R"(\\?\Volume{00000000-c511-4c0d-9000-000000000022}\)", Below("other")}};
  for (const auto& [volume, folder] : mounts) {
    DiskPartition& partition = disk.partitions.emplace_back();
    partition.number = static_cast<uint32_t>(disk.partitions.size());
    partition.type = machine::simulator::PartitionType::kLdmData;
    partition.offset_bytes = partition.number * kGiB;
    partition.size_bytes = kGiB;
    partition.volume = machine::simulator::Volume{*VolumeId::Parse(volume), "NTFS", 0, {}};
  }
  ASSERT_TRUE(node_->AttachDisk(disk, 2).ok());
  for (const auto& [volume, folder] : mounts) {
    ASSERT_TRUE(Mkdir(folder).ok());
    ASSERT_TRUE(MountByHand(volume, folder).ok());
  }
  const auto unstaged = Unstage();
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_TRUE(Numbered(2).online);
  ASSERT_TRUE(Unstage(Below("other")).ok());
  EXPECT_FALSE(Numbered(2).online);
}

// Drivers of the older groups may pass any number and volume, except the disks of Windows.
TEST_F(WindowsUseTest, TheOlderCallsDoNotChangeSystemDisks) {
  // A call never mounts a volume in itself.
  ASSERT_TRUE(node_->AttachDisk(DataDisk(0), 2).ok());
  ASSERT_TRUE(StageDisk(2).ok());
  const std::string inner = Target() + R"(\inner)";
  ASSERT_TRUE(Mkdir(inner).ok());
  for (const auto& [number, words] :
       {std::pair(0u, "Windows runs on disk 0"), std::pair(6u, "Windows boots from disk 6")}) {
    ExpectRefused([&] { return SetOnline(number, false); }, words);
  }
  ExpectRefused([&] { return Partition(6); }, "disk_number: Windows boots from disk 6");
  ChangeNumbered(6, [](Disk& disk) { disk.online = false; });
  ExpectRefused([&] { return Partition(6); }, "disk_number: Windows boots from disk 6");
  ChangeNumbered(6, [](Disk& disk) {
    disk.online = true;
    disk.style = PartitionStyle::kGpt;
  });
  ExpectRefused([&] { return Partition(6); }, "disk_number: Windows boots from disk 6");
  // The disk is partitioned already.
  EXPECT_TRUE(Partition(0).ok());
  const std::string volume = kSystemVolume;
  ExpectRefused([&] { return volume_->FormatVolume(context_, {.volume_id = volume}).status(); },
                ": Windows runs on disk 0");
  ExpectRefused([&] { return Mount(volume, inner); }, ": Windows runs on disk 0");
  ExpectRefused([&] { return Resize(volume, 0); }, "Windows runs on disk 0");
  ExpectRefused([&] { return Resize(volume, 63 * kGiB); }, "Windows runs on disk 0");
  // The volume has this size already.
  EXPECT_TRUE(Resize(volume, kGiB).ok());
  // A driver may end the mount at its folder, even if Windows' volume is mounted there.
  ASSERT_TRUE(MountByHand(volume, inner).ok());
  EXPECT_TRUE(Unmount(volume, inner).ok());
}

// The older calls allow a drive letter on a driver's volume, as upstream does.
TEST_F(WindowsUseTest, TheOlderCallsAcceptADiskWithADriveLetter) {
  ASSERT_TRUE(Mkdir(Target()).ok());
  EXPECT_TRUE(Partition(1).ok());
  EXPECT_TRUE(Mount(kTemporary, Target()).ok());
  EXPECT_TRUE(Resize(kTemporary, 0).ok());
  EXPECT_TRUE(Unmount(kTemporary, Target()).ok());
  EXPECT_TRUE(volume_->FormatVolume(context_, {.volume_id = kTemporary}).ok());
  EXPECT_TRUE(SetOnline(1, false).ok());
  EXPECT_TRUE(SetOnline(1, true).ok());
}

// The mount manager reports the real path of a folder, without links.
constexpr char kLinkedRoot[] = R"(
  disk { number: 0 size_bytes: 68719476736 style: GPT partition { size_bytes: 60000000000 volume {
    file_system: "NTFS" drive_letter: "C" file { path: "var" kind: LINK target: "E:\\real" } } } }
  disk { number: 1 size_bytes: 68719476736 style: GPT partition { size_bytes: 60000000000 volume {
    file_system: "NTFS" drive_letter: "E" file { path: "real\\lib\\kubelet" } file { path: "a" } } } }
  disk { number: 2 size_bytes: 1073741824 }
)";
class LinkedRootTest : public WindowsUseTest {
 protected:
  LinkedRootTest() : WindowsUseTest(kLinkedRoot) {}
};

TEST_F(LinkedRootTest, AMountBelowALinkedWorkingDirectoryBelongsToADriver) {
  const auto staged = StageDisk(2);
  ASSERT_TRUE(staged.ok()) << staged.status();
  ASSERT_TRUE(StageDisk(2, Below("other")).ok());
  ASSERT_TRUE(MountByHand(staged->volume_id, R"(E:\a)").ok());
  ExpectRefused([&] { return StageDisk(2, Below("third")).status(); },
                R"(a volume of disk 2 is mounted at E:\a)");
  ASSERT_TRUE(host_->volume()
                  .Unmount(context_, *VolumeId::Parse(staged->volume_id),
                           {*WindowsPath::Parse("path", R"(E:\a)"), nullptr})
                  .ok());
  ASSERT_TRUE(Unstage(Below("other")).ok());
  ASSERT_TRUE(Unstage().ok());
  EXPECT_FALSE(Numbered(2).online);
}

}  // namespace
}  // namespace csi_proxy::storage
