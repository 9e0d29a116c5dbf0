#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "server/groups/storage/stage_testing.h"

namespace csi_proxy::storage {
namespace {

using groups::kGiB;
using groups::kMiB;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(StageTest, StageVolumePreparesAnOfflineReadOnlyRawDisk) {
  // Disk 3 of the default scenario.
  const auto staged = StageDisk(3);
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(staged->disk_number, 3u);
  EXPECT_THAT(staged->steps, ElementsAre(StorageStep::kBroughtOnline, StorageStep::kMadeWritable,
                                         StorageStep::kInitialized, StorageStep::kPartitioned,
                                         StorageStep::kFormatted, StorageStep::kMadeDirectory,
                                         StorageStep::kMounted));
  EXPECT_EQ(static_cast<uint64_t>(staged->size_bytes), Size(staged->volume_id));
  EXPECT_TRUE(WriteAt(Target()).ok());
}

TEST_F(StageTest, StageVolumeReportsTheTimeOfEachStep) {
  Delay("win32.SetMountPoint", absl::Milliseconds(200));
  const auto staged = StageDisk(1);
  ASSERT_TRUE(staged.ok()) << staged.status();
  ASSERT_EQ(staged->steps.back(), StorageStep::kMounted);
  ASSERT_EQ(staged->step_milliseconds.size(), staged->steps.size());
  EXPECT_GE(staged->step_milliseconds.back(), 190u);
}

TEST_F(StageTest, ARepeatedStageVolumeTakesNoStep) {
  const auto first = StageDisk(1);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(WriteAt(Target()).ok());
  const auto again = StageDisk(1);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->steps, IsEmpty());
  EXPECT_EQ(again->volume_id, first->volume_id);
  EXPECT_EQ(again->size_bytes, first->size_bytes);
  EXPECT_TRUE(Exists(Target() + "\\written"));
}

// aws-ebs, gcp-pd and vsphere check a staged volume with these calls.
TEST_F(StageTest, TheOlderCallsFindAStagedVolume) {
  const auto staged = Stage({.serial_number = "vol0a1b2c3d4e5f60789"});
  ASSERT_TRUE(staged.ok()) << staged.status();
  const auto volume = volume_->GetVolumeIDFromTargetPath(context_, {.target_path = Target()});
  ASSERT_TRUE(volume.ok()) << volume.status();
  EXPECT_EQ(volume->volume_id, staged->volume_id);
  const auto disk = volume_->GetDiskNumberFromVolumeID(context_, {.volume_id = staged->volume_id});
  ASSERT_TRUE(disk.ok()) << disk.status();
  EXPECT_EQ(disk->disk_number, 2u);
  EXPECT_EQ(Volumes(2), std::vector<std::string>{staged->volume_id});
  EXPECT_TRUE(volume_->IsVolumeFormatted(context_, {.volume_id = staged->volume_id})->formatted);
  EXPECT_TRUE(filesystem_->IsSymlink(context_, {.path = Target()})->is_symlink);
  EXPECT_TRUE(Partition(2).ok());
  EXPECT_TRUE(SetOnline(2, true).ok());
  EXPECT_EQ(volume_->ResizeVolume(context_, {.volume_id = staged->volume_id}).status(),
            absl::OkStatus());
}

// The drivers make these calls in this order.
TEST_F(StageTest, StageVolumeAcceptsAVolumeThatTheOlderCallsStaged) {
  ASSERT_TRUE(Partition(1).ok());
  ASSERT_TRUE(SetOnline(1, true).ok());
  const std::string volume = Volumes(1).at(0);
  ASSERT_TRUE(volume_->FormatVolume(context_, {.volume_id = volume}).ok());
  ASSERT_TRUE(Mkdir(Target()).ok());
  ASSERT_TRUE(Mount(volume, Target()).ok());
  const auto staged = StageDisk(1);
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_THAT(staged->steps, IsEmpty());
  EXPECT_EQ(staged->volume_id, volume);
  // A driver of the older groups has unmounted the volume and taken the disk offline.
  ASSERT_TRUE(Unmount(volume, Target()).ok());
  ASSERT_TRUE(SetOnline(1, false).ok());
  const auto again = StageDisk(1);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->steps, ElementsAre(StorageStep::kBroughtOnline, StorageStep::kMounted));
}

TEST_F(StageTest, StageVolumeAcceptsAPathWithoutADrive) {
  ASSERT_TRUE(StageDisk(1, R"(\var\lib\kubelet\plugins\m)").ok());
  EXPECT_TRUE(Exists(Below(R"(plugins\m)")));
  ASSERT_TRUE(Unstage("/var/lib/kubelet/plugins/m").ok());
  EXPECT_FALSE(Exists(Below(R"(plugins\m)")));
}

TEST_F(StageTest, ANewVolumeGetsTheRequestedLabel) {
  const auto staged = storage_->StageVolume(
      context_, {.disk = {.number = "1"}, .target_path = Target(), .label = "data"});
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(DiskNow(1).partitions.back().volume->label, "data");
  // A formatted volume keeps its file system.
  ASSERT_TRUE(
      storage_
          ->StageVolume(context_,
                        {.disk = {.number = "1"}, .target_path = Target(), .label = "other"})
          .ok());
  EXPECT_EQ(DiskNow(1).partitions.back().volume->label, "data");
}

TEST_F(StageTest, AnAllocationUnitBelowTheSectorSizeIsRefusedBeforeAnyChange) {
  ChangeDisk(1, [](Disk& disk) { disk.sector_bytes = 4096; });
  const std::string before = Everything();
  StageVolumeRequest request = {
      .disk = {.number = "1"}, .target_path = Target(), .allocation_unit_bytes = 512};
  const absl::Status refused = storage_->StageVolume(context_, request).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(
      std::string(refused.message()),
      HasSubstr(
          "allocation_unit_bytes: 512 is not a multiple of the sector size of disk 1, 4096 bytes"));
  EXPECT_TRUE(Everything() == before);
  request.allocation_unit_bytes = 4096;
  const auto staged = storage_->StageVolume(context_, request);
  ASSERT_TRUE(staged.ok()) << staged.status();
  // The simulated Windows refuses an allocation unit of 512 bytes on this disk, as Windows does.
  const absl::StatusOr<VolumeId> volume = VolumeId::Parse(staged->volume_id);
  const absl::Status formatted =
      host_->volume().Format(context_, *volume, {.allocation_unit_bytes = 512});
  EXPECT_THAT(std::string(formatted.message()), HasSubstr("(43005)")) << formatted;
}

TEST_F(StageTest, StageVolumeGrowsTheVolumeToFillItsDisk) {
  ASSERT_TRUE(StageDisk(1).ok());
  ASSERT_TRUE(node_->GrowDisk(1, 20 * kGiB).ok());
  const auto grown = StageDisk(1);
  ASSERT_TRUE(grown.ok()) << grown.status();
  EXPECT_THAT(grown->steps, ElementsAre(StorageStep::kGrew));
  EXPECT_GT(static_cast<uint64_t>(grown->size_bytes), 19 * kGiB);
  EXPECT_THAT(StageDisk(1)->steps, IsEmpty());
}

TEST_F(StageTest, AFailedGrowthBelow100MiBIsNotAnError) {
  ASSERT_TRUE(StageDisk(1).ok());
  ASSERT_TRUE(node_->GrowDisk(1, 10 * kGiB + 50 * kMiB).ok());
  Fail("wmi.Invoke/MSFT_Partition.Resize", 0, 4);
  const auto staged = StageDisk(1);
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_THAT(staged->steps, IsEmpty());
}

TEST_F(StageTest, StageVolumeRefusesATargetThatIsInUse) {
  // Another volume is mounted at the target.
  ASSERT_TRUE(StageDisk(1).ok());
  const absl::Status taken = Refused(2, {.number = "2"});
  EXPECT_TRUE(absl::IsAlreadyExists(taken)) << taken;
  // The target is a directory with an entry, a file, or a link.
  ASSERT_TRUE(Mkdir(Below(R"(full\x)")).ok());
  const absl::Status full = StageDisk(2, Below("full")).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(full)) << full;
  ASSERT_TRUE(PlantFile(Below("file"), 1).ok());
  ASSERT_TRUE(PlantLink(Below("link"), Below("full")).ok());
  ASSERT_TRUE(node_->MakeLink(Below("junction"), Below("full"), true).ok());
  for (const char* name : {"file", "link", "junction"}) {
    const absl::Status refused = StageDisk(2, Below(name)).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_TRUE(absl::StartsWith(refused.message(), "target_path: ")) << refused;
    const absl::Status kept = Unstage(Below(name)).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(kept)) << kept;
    EXPECT_TRUE(absl::StartsWith(kept.message(), "target_path: ")) << kept;
    EXPECT_TRUE(Exists(Below(name)));
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(Unstage(Below("full")).status()));
  EXPECT_TRUE(Exists(Below(R"(full\x)")));
}

// Another disk may get the number before the call has its locks.
TEST_F(StageTest, StageVolumeFailsIfTheDiskWasReplacedBeforeTheLock) {
  const std::function<void(Disk&)> changes[] = {
      [](Disk& disk) { disk.serial_number = "vol-of-somebody-else"; },
      [](Disk& disk) { disk.facts.unique_id = "another"; }};
  for (const auto& change : changes) {
    const absl::Status refused =
        HeldUp(
            LockTarget(), 2, [this] { return StageDisk(2); }, [&] { ChangeDisk(2, change); })
            .status();
    EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  }
  EXPECT_TRUE(StageDisk(2).ok());
}

TEST_F(StageTest, StageVolumeKeepsAnotherVolumeThatWasMountedDuringTheCall) {
  const std::string first = Volume(1);
  const std::string second = Volume(2);
  ASSERT_TRUE(Mkdir(Target()).ok());
  const absl::Status refused =
      HeldUp(
          groups::LockVolume(locks_, context_, *VolumeId::Parse(first)), 3,
          [this] { return StageDisk(1); }, [&] { EXPECT_TRUE(Mount(second, Target()).ok()); })
          .status();
  EXPECT_TRUE(absl::IsAlreadyExists(refused)) << refused;
  EXPECT_TRUE(Unmount(second, Target()).ok());
}

// A remount would close the open files of the volume.
TEST_F(StageTest, AReadOnlyFileSystemInUseIsNotRemounted) {
  ASSERT_TRUE(StageDisk(1, Below("other")).ok());
  ChangeDisk(1, [](Disk& disk) { disk.partitions.back().mounted_read_only = true; });
  ASSERT_TRUE(StageDisk(1).ok());
  EXPECT_TRUE(DiskNow(1).partitions.back().mounted_read_only);
  // A mount at the target does not change this.
  ASSERT_TRUE(StageDisk(1).ok());
  EXPECT_TRUE(DiskNow(1).partitions.back().mounted_read_only);
  ASSERT_TRUE(Unmount(Volumes(1).at(0), Below("other")).ok());
  ASSERT_TRUE(StageDisk(1).ok());
  EXPECT_FALSE(DiskNow(1).partitions.back().mounted_read_only);
}

TEST_F(StageTest, StageVolumeReplacesTheMountOfADetachedVolume) {
  ASSERT_TRUE(StageDisk(1).ok());
  ASSERT_TRUE(node_->DetachDisk(1).ok());
  const auto staged = Stage({.serial_number = "vol0a1b2c3d4e5f60789"});
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_THAT(staged->steps,
              testing::IsSupersetOf({StorageStep::kUnmounted, StorageStep::kMounted}));
}

// By now another disk may have the number, with or without a volume.
TEST_F(StageTest, AStaleMountIsNotReplacedIfTheDiskIsNamedByNumber) {
  ASSERT_TRUE(StageDisk(1).ok());
  ASSERT_TRUE(StageDisk(2, Below("second")).ok());
  ASSERT_TRUE(Unstage(Below("second")).ok());
  ASSERT_TRUE(node_->DetachDisk(1).ok());
  // Disks 2 and 3 have moved up in the node's list.
  for (const uint32_t index : {1, 2}) {
    const absl::Status refused = Refused(index, {.number = absl::StrCat(index + 1)});
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("is gone"));
  }
  ASSERT_TRUE(Unstage().ok());
  EXPECT_TRUE(StageDisk(2).ok());
}

TEST_F(StageTest, AnExpiredCallDoesNothing) {
  const CallContext over = context_.WithTimeout(absl::ZeroDuration());
  const auto calls = node_->CountCalls().wmi_calls;
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      storage_->StageVolume(over, {.disk = {.number = "1"}, .target_path = Target()}).status()));
  EXPECT_TRUE(
      absl::IsDeadlineExceeded(storage_->UnstageVolume(over, {.target_path = Target()}).status()));
  EXPECT_EQ(node_->CountCalls().wmi_calls, calls);
  // The call may also end between two steps.
  Delay("wmi.Invoke/MSFT_Disk.Initialize", absl::Seconds(60));
  const CallContext hurried = context_.WithTimeout(absl::Milliseconds(200));
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      storage_->StageVolume(hurried, {.disk = {.number = "1"}, .target_path = Target()}).status()));
  EXPECT_EQ(locks_.size(), 0u);
  EXPECT_TRUE(DiskNow(1).partitions.empty());
}

}  // namespace
}  // namespace csi_proxy::storage
