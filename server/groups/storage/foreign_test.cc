#include <string>

#include "absl/strings/match.h"
#include "server/groups/storage/stage_testing.h"

namespace csi_proxy::storage {
namespace {

using groups::kGiB;
using groups::kMiB;
using machine::simulator::DiskBytes;
using machine::simulator::DiskPartition;
using machine::simulator::PartitionStyle;
using machine::simulator::PartitionType;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using ForeignTest = StageTest;

TEST_F(ForeignTest, ADiskWithSeveralDataPartitionsIsRefused) {
  TwoVolumes();
  const absl::Status refused = Stage({.number = "9"}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("several data partitions"));
}

TEST_F(ForeignTest, AnyDiskWithAPartitionOfAnotherSystemIsRefused) {
  for (const PartitionStyle style : {PartitionStyle::kGpt, PartitionStyle::kMbr}) {
    for (const bool online : {true, false}) {
      ChangeDisk(1, [&](Disk& disk) {
        disk.style = style;
        disk.online = online;
        DiskPartition linux;
        linux.number = 1;
        linux.type = PartitionType::kLinux;
        linux.offset_bytes = kMiB;
        linux.size_bytes = kGiB;
        disk.partitions = {linux};
      });
      // The disk must not come online even for a moment.
      Inject("wmi.Invoke/MSFT_Disk.Online", 5);
      (void)RefusedAsForeign(1, "partition 1 of disk 1");
    }
  }
}

// Kubernetes made such volumes before it used CSI drivers.
TEST_F(ForeignTest, AnMbrDiskWithOneDataPartitionIsStaged) {
  ChangeDisk(1, [](Disk& disk) { disk.style = PartitionStyle::kMbr; });
  const auto staged = StageDisk(1);
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_THAT(staged->steps, testing::Not(testing::Contains(StorageStep::kInitialized)));
  EXPECT_EQ(DiskNow(1).style, PartitionStyle::kMbr);
  EXPECT_THAT(StageDisk(1)->steps, IsEmpty());
}

// A disk with a nonzero byte at a place that the service reads is refused. The error only names the
// kind of data.
TEST_F(ForeignTest, ADiskWithANonzeroByteIsNotInitialized) {
  const uint64_t size = DiskNow(1).size_bytes;
  const std::string id = "disk 1 (page 83 60022480a1b2c3d4e5f60718293a4b5c) holds ";
  constexpr char kUnknown[] = "data that Windows does not recognise";
  const struct {
    uint64_t offset;
    std::string bytes;
    const char* name;
  } rows[] = {{0x438, "\x53\xEF", "an ext2, ext3 or ext4"},
              {0, "XFSB", "an XFS"},
              {0x10040, "_BHRfS_M", "a Btrfs"},
              {1536, "LABELONE", "a volume of Linux' LVM2"},
              {0, "LUKS\xBA\xBE", "an encrypted LUKS"},
              {0x1000, "\xFC\x4E\x2B\xA9", "a member of a Linux MD RAID"},
              {4086, "SWAPSPACE2", "swap space of Linux"},
              {0x21000, "\x0C\xB1\xBA", "a ZFS pool"},
              {3, "-FVE-FS-", "a BitLocker"},
              {3, "ReFS", "a ReFS"},
              {64 << 10, "_BHRfS_M", kUnknown},
              {kMiB, "\x0D\xD0\x01\xC0", kUnknown},
              {2 * kMiB - 1, "x", kUnknown},
              {size - kMiB, "x", kUnknown},
              {size - 512, "x", kUnknown}};
  for (const auto& row : rows) {
    for (const bool online : {true, false}) {
      ChangeDisk(1, [&](Disk& disk) {
        disk.online = online;
        disk.foreign = {DiskBytes{row.offset, row.bytes}};
      });
      const absl::Status refused = RefusedAsForeign(1, absl::StrCat(id, row.name));
      EXPECT_FALSE(absl::StrContains(refused.message(), "clean")) << refused;
    }
  }
  // diskpart's `clean all` leaves a disk in this state.
  ChangeDisk(1, [](Disk& disk) { disk.foreign.clear(); });
  EXPECT_TRUE(StageDisk(1).ok());
}

TEST_F(ForeignTest, ARefusedDiskIsMadeReadOnlyAgain) {
  for (const bool online : {true, false}) {
    ChangeDisk(1, [&](Disk& disk) {
      disk.online = online;
      disk.read_only = true;
      disk.foreign = {DiskBytes{512, "LABELONE"}};
    });
    (void)RefusedAsForeign(1, "do not format or wipe it");
    EXPECT_TRUE(DiskNow(1).read_only) << online;
  }
}

TEST_F(ForeignTest, ARefusedDiskIsTakenOfflineAgainOrTheErrorSaysThatItStaysOnline) {
  for (const bool stays : {false, true}) {
    ChangeDisk(1, [&](Disk& disk) {
      disk.online = false;
      disk.foreign = {DiskBytes{512, "LABELONE"}};
    });
    Inject("wmi.Invoke/MSFT_Disk.Offline", 40001, stays ? 0 : 2);
    const absl::Status refused = Stage({.number = "1"}).status();
    EXPECT_EQ(absl::StrContains(refused.message(), "stays online"), stays) << refused;
    EXPECT_EQ(DiskNow(1).online, stays);
  }
}

// A deadline does not stop the steps that undo the call.
TEST_F(ForeignTest, ARefusedDiskIsRestoredEvenAfterTheCallsDeadline) {
  for (const bool online : {true, false}) {
    for (const bool stays : {false, true}) {
      ChangeDisk(1, [&](Disk& disk) {
        disk.online = online;
        disk.read_only = true;
        disk.foreign = {DiskBytes{disk.size_bytes - 512, "LABELONE"}};
      });
      Delay("win32.Read", absl::Milliseconds(600), 1);
      if (stays) Inject("wmi.Invoke/MSFT_Disk.SetAttributes", 40001, 3);
      const absl::Status late =
          storage_
              ->StageVolume(context_.WithTimeout(absl::Milliseconds(500)),
                            {.disk = {.number = "1"}, .target_path = Target()})
              .status();
      EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
      EXPECT_EQ(absl::StrContains(late.message(), "stays online or writable"), stays) << late;
      EXPECT_EQ(DiskNow(1).online, online);
      EXPECT_EQ(DiskNow(1).read_only, !stays);
      EXPECT_EQ(warnings_.size(), stays ? 1 : 0);
      warnings_.clear();
    }
  }
}

// Another call may have seen the disk online.
TEST_F(ForeignTest, ARefusedDiskStaysOnlineIfAnotherCallMountsItsVolume) {
  const std::string volume = Volume(1);
  const ConfinedPath elsewhere{*WindowsPath::Parse("path", Below("elsewhere")), deps_.roots};
  ASSERT_TRUE(Mkdir(Below("elsewhere")).ok());
  for (const bool is_mounted : {false, true}) {
    ChangeDisk(1, [](Disk& disk) { disk.online = false; });
    // The volume arrives some time after the disk. The other call has the volume's lock.
    const auto mount = [&] {
      while (is_mounted &&
             !deps_.host->volume().Mount(context_, *VolumeId::Parse(volume), elsewhere).ok()) {
        absl::SleepFor(absl::Milliseconds(1));
      }
    };
    const auto stage = [this] { return Stage({.number = "1"}, Target(), "refs"); };
    const absl::Status refused =
        HeldUp(groups::LockVolume(locks_, context_, *VolumeId::Parse(volume)), 3, stage, mount)
            .status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_EQ(DiskNow(1).online, is_mounted) << refused;
    EXPECT_EQ(absl::StrContains(refused.message(), "its volume is mounted"), is_mounted) << refused;
  }
}

TEST_F(ForeignTest, PartitionDiskDoesNotChangeARefusedDisk) {
  deps_.keep_foreign_data = true;
  Remake();
  ChangeDisk(1, [](Disk& disk) {
    disk.online = false;
    disk.read_only = true;
    disk.foreign = {DiskBytes{512, "LABELONE"}};
  });
  EXPECT_TRUE(absl::IsFailedPrecondition(Partition(1)));
  EXPECT_FALSE(DiskNow(1).online);
  EXPECT_TRUE(DiskNow(1).read_only);
}

// Windows may need longer for a volume than the call may take.
TEST_F(ForeignTest, ARepeatedCallStagesADiskWhoseVolumeArrivesLate) {
  ASSERT_TRUE(StageDisk(1).ok());
  ASSERT_TRUE(Unstage().ok());
  Change([](groups::NodeState& state) { state.volume_arrival_delay = absl::Seconds(1); });
  for (int calls = 1;; ++calls) {
    const absl::Status staged =
        storage_
            ->StageVolume(context_.WithTimeout(absl::Milliseconds(600)),
                          {.disk = {.number = "1"}, .target_path = Target()})
            .status();
    if (staged.ok()) break;
    ASSERT_TRUE(absl::IsDeadlineExceeded(staged)) << staged;
    ASSERT_LT(calls, 20);
  }
}

// A blank volume, left by a call killed before the format, is formatted. A volume with data is not.
TEST_F(ForeignTest, AVolumeWithoutAFileSystemIsFormattedOnlyIfItIsBlank) {
  ASSERT_TRUE(Partition(1).ok());
  const DiskPartition data = DiskNow(1).partitions.back();
  for (const uint64_t offset :
       {data.offset_bytes, data.offset_bytes + 0x438, data.offset_bytes + data.size_bytes - 512}) {
    for (const bool online : {true, false}) {
      ChangeDisk(1, [&](Disk& disk) {
        disk.online = online;
        disk.foreign = {DiskBytes{offset, "-FVE-FS-"}};
      });
      (void)RefusedAsForeign(1, "do not format or wipe it");
    }
  }
  ChangeDisk(1, [](Disk& disk) { disk.foreign.clear(); });
  const auto staged = StageDisk(1);
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_THAT(staged->steps, ElementsAre(StorageStep::kBroughtOnline, StorageStep::kFormatted,
                                         StorageStep::kMadeDirectory, StorageStep::kMounted));
}

// A new partition must not hide old data of the disk.
TEST_F(ForeignTest, ANewPartitionOverOldDataIsNotFormatted) {
  ChangeDisk(1, [](Disk& disk) { disk.foreign = {DiskBytes{17 * kMiB, "old"}}; });
  const absl::Status refused = StageDisk(1).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_EQ(DiskNow(1).partitions.back().volume->file_system, "");
  EXPECT_TRUE(absl::IsFailedPrecondition(StageDisk(1).status()));
}

TEST_F(ForeignTest, StageVolumeKeepsAnExistingFileSystem) {
  const std::string volume = Volume(1);
  EXPECT_EQ(DiskNow(1).partitions.back().volume->file_system, "NTFS");
  const absl::Status refused = Stage({.number = "1"}, Target(), "refs").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_TRUE(absl::StartsWith(refused.message(), "file_system: ")) << refused;
  ASSERT_TRUE(Stage({.number = "1"}, Target(), "ntfs").ok());
  const auto other = Stage({.number = "2"}, Below("refs"), "refs");
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(DiskNow(2).partitions.back().volume->file_system, "ReFS");
}

}  // namespace
}  // namespace csi_proxy::storage
