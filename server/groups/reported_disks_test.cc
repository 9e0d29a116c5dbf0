// Tests nodes on which operators saw CSI drivers for Windows fail. Most tests cite the report.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/groups/storage/stage_testing.h"

namespace csi_proxy::storage {
namespace {

using groups::kGiB;
using groups::kMiB;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr uint64_t kTiB = 1024 * kGiB;

// Windows' disk. The folder `gone` is the mount of a volume on a removed disk.
constexpr char kWindows[] = R"(
  disk {
    number: 0 size_bytes: 68719476736 style: GPT
    location: "Integrated : Adapter 0 : Port 0 : Target 0 : LUN 0"
    partition { size_bytes: 60000000000 volume {
      file_system: "NTFS" drive_letter: "C"
      file { path: "var\\lib\\kubelet\\plugins\\s1" } file { path: "var\\lib\\kubelet\\plugins\\s2" }
      file {
        path: "var\\lib\\kubelet\\plugins\\gone" dangling: true
        mounted_volume_id: "\\\\?\\Volume{99999999-0000-4000-8000-000000000001}\\"
      }
    } }
  }
)";
constexpr char kVolume[] = R"(\\?\Volume{11111111-0000-4000-8000-000000000001}\)";
constexpr char kOther[] = R"(\\?\Volume{11111111-0000-4000-8000-000000000002}\)";

// A node with Windows' disk and the disks of a report.
class Reported : public StageTest {
 public:
  explicit Reported(absl::string_view more) : StageTest(absl::StrCat(kWindows, more)) {}
  void TestBody() override {}
  using StageTest::Behave;
  using StageTest::Below;
  using StageTest::Change;
  using StageTest::context_;
  using StageTest::disk_;
  using StageTest::DiskNow;
  using StageTest::Inject;
  using StageTest::Mount;
  using StageTest::node_;
  using StageTest::Partition;
  using StageTest::Resize;
  using StageTest::SetOnline;
  using StageTest::Size;
  using StageTest::Stage;
  using StageTest::StageDisk;
  using StageTest::storage_;
  using StageTest::Target;
  using StageTest::Unmount;
  using StageTest::Unstage;
  using StageTest::volume_;
  using StageTest::Volumes;
  using StageTest::warnings_;

  absl::Status Format(bool by_storage) {
    return by_storage ? storage_->FormatVolume(context_, {.volume_id = kVolume, .overwrite = true})
                            .status()
                      : volume_->FormatVolume(context_, {.volume_id = kVolume}).status();
  }
};

std::string Text(const absl::Status& status) { return std::string(status.message()); }

// Returns the text of a volume with this last digit of its id.
std::string DataVolume(absl::string_view id, absl::string_view more) {
  return absl::StrCat("volume { id: '\\\\\\\\?\\\\Volume{11111111-0000-4000-8000-00000000000", id,
                      "}\\\\' file_system: 'NTFS' ", more, " }");
}

// github.com/kubernetes-sigs/alibaba-cloud-csi-driver/issues/795: a snapshot of another machine's
// Windows disk. Its first partition does not contain data.
TEST(ReportedDisksTest, PartitionDiskSucceedsIfABootPartitionPrecedesTheData) {
  for (const std::string& style :
       {absl::StrCat("MBR partition { size_bytes: 524288000 active: true ", DataVolume("2", "")),
        absl::StrCat("GPT partition { type: EFI_SYSTEM size_bytes: 104857600 ",
                     DataVolume("2", "")),
        absl::StrCat("GPT partition { type: RECOVERY size_bytes: 104857600 ",
                     DataVolume("2", ""))}) {
    for (const char* state : {"", "offline: true"}) {
      SCOPED_TRACE(absl::StrCat(style, state));
      Reported node(absl::StrCat("disk { number: 1 size_bytes: 34359738368 ", state,
                                 " style: ", style, " } partition { size_bytes: 21474836480 ",
                                 DataVolume("1", ""), " } }"));
      ASSERT_TRUE(node.Partition(1).ok());
      EXPECT_THAT(node.Volumes(1), ElementsAre(kVolume, kOther));
    }
  }
}

// github.com/kubernetes-sigs/azuredisk-csi-driver/issues/2664: azuredisk sends no SetDiskState.
TEST(ReportedDisksTest, PartitionDiskBringsAUsedDiskOnline) {
  Reported node(absl::StrCat(
      "disk { number: 1 size_bytes: 10737418240 style: GPT offline: true read_only: true "
      "partition { size_bytes: 10000000000 ",
      DataVolume("1", "file { path: 'a.db' kind: FILE size_bytes: 10 }"), " } }"));
  ASSERT_TRUE(node.Partition(1).ok());
  ASSERT_THAT(node.Volumes(1), ElementsAre(kVolume));
  EXPECT_TRUE(node.Mount(kVolume, node.Below("plugins\\s1")).ok());
}

// github.com/kubernetes/kubernetes/issues/121937: the staging folder is the mount of a volume that
// no longer exists, and the disk now has another volume.
TEST(ReportedDisksTest, MountVolumeRefusesAFolderWithAnotherVolumesMount) {
  Reported node(absl::StrCat(
      "disk { number: 1 size_bytes: 10737418240 style: GPT partition { size_bytes: 5000000000 ",
      DataVolume("1", ""), " } partition { size_bytes: 5000000000 ", DataVolume("2", ""), " } }"));
  for (const bool stale : {false, true}) {
    node.node_->Reset();
    node.Behave([&](groups::Behaviour& behaviour) { behaviour.stale_mount_entries = stale; });
    EXPECT_TRUE(node.Mount(kVolume, node.Below("plugins\\gone")).ok());
    const absl::Status taken = node.Mount(kOther, node.Below("plugins\\gone"));
    EXPECT_TRUE(absl::IsAlreadyExists(taken)) << taken;
  }
}

// github.com/kubernetes/kubernetes/issues/77969.
TEST(ReportedDisksTest, ADiskThatFailsEveryFlushIsUnmountedWithAWarning) {
  Reported node(
      absl::StrCat("disk { number: 1 size_bytes: 10737418240 style: GPT "
                   "health: DISK_UNHEALTHY partition { size_bytes: 10000000000 ",
                   DataVolume("1", ""), " } }"));
  const std::string folder = node.Below("plugins\\s1");
  for (const uint32_t error : {1117, 23, 1392, 112, 483, 1006}) {
    node.node_->Reset();
    node.warnings_.clear();
    node.Inject("win32.Flush", error, 0);
    ASSERT_TRUE(node.Mount(kVolume, folder).ok());
    EXPECT_TRUE(node.Unmount(kVolume, folder).ok()) << error;
    ASSERT_TRUE(node.Mount(kVolume, folder).ok());
    const auto unstaged = node.Unstage(folder);
    ASSERT_TRUE(unstaged.ok()) << unstaged.status();
    EXPECT_THAT(unstaged->steps,
                ElementsAre(StorageStep::kNotFlushed, StorageStep::kTakenOffline,
                            StorageStep::kUnmounted, StorageStep::kRemovedDirectory));
    EXPECT_THAT(unstaged->warnings, ElementsAre(HasSubstr("was not flushed")));
    EXPECT_EQ(node.warnings_.size(), 2u);
  }
}

// github.com/ansible-collections/community.windows/issues/644.
TEST(ReportedDisksTest, CallsRefuseADynamicDiskWithoutWaiting) {
  Reported node(
      absl::StrCat("disk { number: 1 size_bytes: 10737418240 page83: 'dyn' style: GPT "
                   "partition { type: LDM_METADATA size_bytes: 1048576 } "
                   "partition { type: LDM_DATA size_bytes: 10000000000 ",
                   DataVolume("1", ""), " } }"));
  const absl::Time start = absl::Now();
  for (const absl::Status& refused :
       {node.Format(true), node.Format(false), node.Resize(kVolume, 0),
        node.Stage({.page83 = "dyn"}).status(),
        node.storage_->GetVolumeHealth(node.context_, {.volume_id = kVolume}).status()}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(Text(refused), HasSubstr("dynamic disk"));
  }
  EXPECT_LT(absl::Now() - start, absl::Seconds(2));
}

struct Growth {
  const char* name;
  std::string disk;
  uint64_t least;  // with `most`, the bounds of the staged volume's size in bytes
  uint64_t most;
  bool grew;
  const char* warning;  // empty: no warning
};

// Sources: growth by file system,
// learn.microsoft.com/windows-hardware/drivers/storage/msft-partition-resize; an MBR disk beyond 2
// TiB, github.com/MicrosoftDocs/azure-docs/issues/101839; a file system smaller than its partition,
// `extend filesystem` of diskpart.
TEST(ReportedDisksTest, StageVolumeGrowsAVolumeAsFarAsWindowsAllows) {
  const auto smaller = [](absl::string_view file_system) {
    return absl::StrCat(
        "size_bytes: 34359738368 style: GPT partition { size_bytes: 10737418240 volume { id: "
        "'\\\\\\\\?\\\\Volume{11111111-0000-4000-8000-000000000001}\\\\' file_system: '",
        file_system, "' } }");
  };
  const Growth rows[] = {
      {"FAT32", smaller("FAT32"), 10 * kGiB, 10 * kGiB, false, "file system"},
      {"ReFS", smaller("ReFS"), 10 * kGiB, 10 * kGiB, false, "file system"},
      {"NTFS", smaller("NTFS"), 31 * kGiB, 32 * kGiB, true, ""},
      {"MBR beyond 2 TiB",
       absl::StrCat("size_bytes: 1099511627776 grown_size_bytes: 4398046511104 style: MBR "
                    "partition { size_bytes: 1099509530624 ",
                    DataVolume("1", ""), " }"),
       2 * kTiB - kGiB, 2 * kTiB, true, "has an MBR"},
      {"a file system smaller than its partition",
       absl::StrCat("size_bytes: 10739515392 style: GPT partition { size_bytes: 10737418240 ",
                    DataVolume("1", "file_system_bytes: 1073741824"), " }"),
       10 * kGiB, 10 * kGiB, true, ""},
      {"the same with sectors of 4096 bytes",
       absl::StrCat("size_bytes: 10739515392 sector_bytes: 4096 style: GPT partition { size_bytes: "
                    "10737418240 ",
                    DataVolume("1", "file_system_bytes: 1073741824"), " }"),
       10 * kGiB, 10 * kGiB, true, ""},
      {"NTFS of all clusters that there are",
       absl::StrCat("size_bytes: 35184372088832 style: GPT partition { size_bytes: 10737418240 ",
                    DataVolume("1", "allocation_unit_bytes: 4096"), " }"),
       16 * kTiB - kGiB, 16 * kTiB, true, "file system or disk"},
  };
  for (const Growth& row : rows) {
    SCOPED_TRACE(row.name);
    Reported node(absl::StrCat("disk { number: 1 ", row.disk, " }"));
    for (const bool again : {false, true}) {
      const auto staged = node.StageDisk(1);
      ASSERT_TRUE(staged.ok()) << staged.status();
      EXPECT_GE(static_cast<uint64_t>(staged->size_bytes), row.least);
      EXPECT_LE(static_cast<uint64_t>(staged->size_bytes), row.most);
      EXPECT_EQ(testing::Value(staged->steps, Contains(StorageStep::kGrew)), row.grew && !again);
      if (*row.warning == 0) {
        EXPECT_THAT(staged->warnings, IsEmpty());
      } else {
        EXPECT_THAT(staged->warnings, ElementsAre(HasSubstr(row.warning)));
      }
      EXPECT_TRUE(node.Resize(kVolume, 0).ok());
    }
  }
}

// github.com/MicrosoftDocs/azure-docs/issues/70029: a recovery partition lies behind the data.
TEST(ReportedDisksTest, TheErrorNamesThePartitionThatPreventsGrowth) {
  Reported node(absl::StrCat(
      "disk { number: 1 size_bytes: 34359738368 style: GPT partition { size_bytes: 10737418240 ",
      DataVolume("1", ""), " } partition { type: RECOVERY size_bytes: 524288000 } }"));
  EXPECT_TRUE(node.Resize(kVolume, 0).ok());
  const absl::Status refused = node.Resize(kVolume, 20 * kGiB);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(Text(refused), HasSubstr("partition 2 of disk 1 follows the volume's"));
}

// Disks of EC2 are laid out like this.
TEST(ReportedDisksTest, ADiskWithAReservedPartitionAtOffset17408IsStaged) {
  Reported node(
      absl::StrCat("disk { number: 1 size_bytes: 1073741824 style: GPT partition { type: "
                   "MICROSOFT_RESERVED offset_bytes: 17408 size_bytes: 16759808 } "
                   "partition { offset_bytes: 16777216 size_bytes: 1039138816 ",
                   DataVolume("1", ""), " } }"));
  EXPECT_TRUE(node.StageDisk(1).ok());
}

// github.com/aws-quickstart/quickstart-microsoft-sql/issues/56: a disk that arrives online gets a
// letter. Under another SAN policy the disk arrives offline.
TEST(ReportedDisksTest, ADiskWithALetterIsStagedOnlyByPage83OrSerialNumber) {
  const auto disk = [](absl::string_view more) {
    return absl::StrCat(
        "disk { number: 1 size_bytes: 10737418240 style: MBR page83: 'pv' "
        "serial_number: 'vol01' location: 'Integrated : Adapter 3 : Port 0 : "
        "Target 0 : LUN 1' partition { size_bytes: 10736369664 ",
        DataVolume("1", absl::StrCat("drive_letter: 'E' ", more)), " } }");
  };
  for (const DiskSelector& named : {DiskSelector{.page83 = "pv"}, {.serial_number = "vol01"}}) {
    Reported node(disk(""));
    const auto staged = node.Stage(named);
    ASSERT_TRUE(staged.ok()) << staged.status();
    EXPECT_THAT(staged->warnings,
                ElementsAre(HasSubstr("disk 1 has a volume with drive letter E:")));
    EXPECT_TRUE(node.Stage(named).ok());
  }
  // A number or location may belong to another disk by now, so the call refuses the disk.
  Reported node(disk(""));
  const DiskSelector place = {.lun_id = "1", .adapter = "3"};
  for (const DiskSelector& selector : {place, DiskSelector{.number = "1"}}) {
    const absl::Status refused = node.Stage(selector).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(Text(refused), HasSubstr("mountvol"));
  }
  Reported with_page_file(disk("file { path: 'pagefile.sys' kind: FILE size_bytes: 1 }"));
  const absl::Status refused = with_page_file.Stage({.page83 = "pv"}).status();
  EXPECT_THAT(Text(refused),
              HasSubstr("disk 1 has a volume with drive letter E:, with a page file"));
}

// github.com/AutomatedLab/AutomatedLab/issues/1067: the service smphost is disabled.
TEST(ReportedDisksTest, TheErrorNamesTheDisabledStorageService) {
  Reported node(
      absl::StrCat("disk { number: 1 size_bytes: 10737418240 page83: 'p' style: GPT "
                   "partition { size_bytes: 10000000000 ",
                   DataVolume("1", ""),
                   " } } service { name: 'smphost' start_type: ", "DISABLED state: STOPPED }"));
  for (const absl::Status& status : {node.disk_->ListDiskIDs(node.context_, {}).status(),
                                     node.storage_->ListDisks(node.context_, {}).status(),
                                     node.Stage({.page83 = "p"}).status(), node.Partition(1)}) {
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(Text(status), HasSubstr("smphost"));
  }
}

// github.com/balena-io-modules/drivelist/issues/206: FVE_E_LOCKED_VOLUME.
TEST(ReportedDisksTest, CallsOnALockedBitLockerVolumeSayHowToUnlockIt) {
  Reported node(
      absl::StrCat("disk { number: 1 size_bytes: 10737418240 style: GPT partition { "
                   "size_bytes: 10000000000 ",
                   DataVolume("1", ""), " } }"));
  const std::string folder = node.Below("plugins\\s1");
  ASSERT_TRUE(node.Mount(kVolume, folder).ok());
  for (const char* call : {"win32.GetFileSystem", "win32.GetSpace", "win32.Flush"}) {
    node.Inject(call, 0x80310000, 0);
  }
  for (const absl::Status& refused :
       {node.StageDisk(1).status(), node.Format(true), node.Format(false),
        node.volume_->GetVolumeStats(node.context_, {.volume_id = kVolume}).status(),
        node.volume_->WriteVolumeCache(node.context_, {.volume_id = kVolume}).status()}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(Text(refused), HasSubstr("manage-bde -unlock"));
  }
  const auto health = node.storage_->GetVolumeHealth(node.context_, {.volume_id = kVolume});
  ASSERT_TRUE(health.ok()) << health.status();
  EXPECT_TRUE(health->abnormal);
  EXPECT_EQ(health->message, "health of the volume: Locked by BitLocker");
  const auto unstaged = node.Unstage(folder);
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_THAT(unstaged->warnings, ElementsAre(HasSubstr("was not flushed")));
}

// github.com/kubernetes-sigs/aws-ebs-csi-driver/issues/1116.
TEST(ReportedDisksTest, UnstageVolumeWarnsIfAnOpenFileKeepsTheDiskOnline) {
  Reported node(absl::StrCat(
      "disk { number: 1 size_bytes: 10737418240 style: GPT partition { size_bytes: 10000000000 ",
      DataVolume("1", "file { path: 'a.log' kind: FILE size_bytes: 1 }"),
      " } } behaviour { open_files_keep_online: true }"));
  ASSERT_TRUE(node.StageDisk(1).ok());
  ASSERT_TRUE(node.node_->SetOtherOpens({{absl::StrCat(node.Target(), "\\a.log"), 1, 7}}).ok());
  const auto unstaged = node.Unstage();
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_THAT(unstaged->steps, Not(Contains(StorageStep::kTakenOffline)));
  EXPECT_THAT(unstaged->warnings,
              ElementsAre(AllOf(HasSubstr("disk 1 stays online"), HasSubstr("In use (6)"))));
}

// github.com/balena-io-modules/drivelist/issues/240: the volume is read-only but its disk is not.
TEST(ReportedDisksTest, StageVolumeWarnsOfAReadOnlyVolume) {
  Reported node(absl::StrCat(
      "disk { number: 1 size_bytes: 10002366464 style: GPT partition { size_bytes: 10000269312 ",
      DataVolume("1", "read_only: true"), " } }"));
  for (int repeat = 0; repeat < 2; ++repeat) {
    const int64_t calls = node.node_->CountCalls().win32_calls;
    const auto staged = node.StageDisk(1);
    ASSERT_TRUE(staged.ok()) << staged.status();
    EXPECT_GT(node.node_->CountCalls().win32_calls, calls);
    EXPECT_THAT(staged->warnings, ElementsAre(HasSubstr("is read-only")));
  }
}

// github.com/dsccommunity/StorageDsc/issues/80: a failover cluster shows the disks of other nodes.
TEST(ReportedDisksTest, CallsAreRefusedIfWmiReturnsTwoObjectsWithOneKey) {
  for (const char* of : {"wmi.Query/MSFT_Disk", "wmi.Query/MSFT_Volume"}) {
    Reported node(absl::StrCat("fault { operation: '", of, "' objects: EACH_TWICE } ",
                               "disk { number: 1 size_bytes: 10737418240 style: GPT partition { "
                               "size_bytes: 5000000000 ",
                               DataVolume("1", ""), " } }"));
    const absl::Status refused = node.Format(true);
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(Text(refused), HasSubstr("failover cluster"));
    if (absl::EndsWith(of, "Volume")) continue;
    EXPECT_TRUE(absl::IsFailedPrecondition(node.Partition(1)));
    EXPECT_TRUE(absl::IsFailedPrecondition(node.SetOnline(1, false)));
  }
}

// github.com/ClusterLabs/resource-agents/issues/1463.
TEST(ReportedDisksTest, TheErrorNamesBothDisksWithTheSamePage83Name) {
  Reported node(
      "disk { number: 1 size_bytes: 1073741824 page83: 'same' } "
      "disk { number: 2 size_bytes: 1073741824 page83: 'same' }");
  const absl::Status refused =
      node.disk_->GetDiskNumberByName(node.context_, {.disk_name = "same"}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(Text(refused), HasSubstr("1, 2"));
}

}  // namespace
}  // namespace csi_proxy::storage
