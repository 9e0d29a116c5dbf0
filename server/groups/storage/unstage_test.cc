#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "server/groups/storage/stage_testing.h"

namespace csi_proxy::storage {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using UnstageTest = StageTest;

TEST_F(UnstageTest, UnstageVolumeFlushesTakesTheDiskOfflineAndUnmounts) {
  const auto staged = StageDisk(1);
  ASSERT_TRUE(staged.ok()) << staged.status();
  const auto unstaged = Unstage();
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_EQ(unstaged->volume_id, staged->volume_id);
  EXPECT_THAT(unstaged->steps,
              ElementsAre(StorageStep::kFlushed, StorageStep::kTakenOffline,
                          StorageStep::kUnmounted, StorageStep::kRemovedDirectory));
  EXPECT_FALSE(Exists(Target()));
  EXPECT_FALSE(DiskNow(1).online);
  const auto again = Unstage();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->volume_id, "");
  EXPECT_THAT(again->steps, IsEmpty());
}

TEST_F(UnstageTest, UnstageVolumeKeepsTheContent) {
  ASSERT_TRUE(StageDisk(1).ok());
  ASSERT_TRUE(WriteAt(Target()).ok());
  ASSERT_TRUE(Unstage().ok());
  ASSERT_TRUE(StageDisk(1, Below("elsewhere")).ok());
  EXPECT_TRUE(Exists(Below(R"(elsewhere\written)")));
}

TEST_F(UnstageTest, UnstageVolumeKeepsTheDiskOnlineOnRequest) {
  ASSERT_TRUE(StageDisk(1).ok());
  const auto unstaged = Unstage(Target(), true);
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_THAT(unstaged->steps, ElementsAre(StorageStep::kFlushed, StorageStep::kUnmounted,
                                           StorageStep::kRemovedDirectory));
  EXPECT_TRUE(DiskNow(1).online);
}

TEST_F(UnstageTest, UnstageVolumeKeepsTheDiskOnlineUntilItsLastMountIsRemoved) {
  ASSERT_TRUE(StageDisk(1).ok());
  ASSERT_TRUE(StageDisk(1, Below("other")).ok());
  ASSERT_TRUE(Unstage().ok());
  EXPECT_TRUE(DiskNow(1).online);
  EXPECT_TRUE(WriteAt(Below("other")).ok());
  ASSERT_TRUE(Unstage(Below("other")).ok());
  EXPECT_FALSE(DiskNow(1).online);
}

// The other volume of the disk is mounted elsewhere.
TEST_F(UnstageTest, UnstageVolumeKeepsTheDiskOnlineIfAnotherVolumeIsMounted) {
  const std::vector<std::string> volumes = TwoVolumes();
  for (const char* name : {"a", "b"}) ASSERT_TRUE(Mkdir(Below(name)).ok());
  ASSERT_TRUE(Mount(volumes[0], Below("a")).ok());
  ASSERT_TRUE(Mount(volumes[1], Below("b")).ok());
  ASSERT_TRUE(Unstage(Below("a")).ok());
  EXPECT_TRUE(WriteAt(Below("b")).ok());
}

// The other call mounts, formats or resizes the disk's other volume.
TEST_F(UnstageTest, UnstageVolumeKeepsTheDiskOnlineIfACallHasLockedAnotherVolume) {
  const std::vector<std::string> volumes = TwoVolumes();
  ASSERT_TRUE(Mkdir(Target()).ok());
  ASSERT_TRUE(Mount(volumes[0], Target()).ok());
  const auto lock = groups::LockVolume(locks_, context_, *VolumeId::Parse(volumes[1]));
  const auto unstaged = Unstage();
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_THAT(unstaged->steps, ElementsAre(StorageStep::kFlushed, StorageStep::kUnmounted,
                                           StorageStep::kRemovedDirectory));
  EXPECT_THAT(unstaged->warnings, ElementsAre(testing::HasSubstr("disk 9 stays online: ")));
}

TEST_F(UnstageTest, UnstageVolumeKeepsTheDiskOnlineIfItWaitsForACallThatMountsAnotherVolume) {
  const std::vector<std::string> volumes = TwoVolumes();
  const VolumeId other = *VolumeId::Parse(volumes[1]);
  for (const std::string& path : {Target(), Below("b")}) ASSERT_TRUE(Mkdir(path).ok());
  ASSERT_TRUE(Mount(volumes[0], Target()).ok());
  // The four locks are those of the disk, the path and both volumes.
  const auto unstaged = HeldUp(
      groups::LockVolume(locks_, context_, other), 4, [this] { return Unstage(); },
      [&] {
        const ConfinedPath folder{*WindowsPath::Parse("path", Below("b")), deps_.roots};
        EXPECT_TRUE(host_->volume().Mount(context_, other, folder).ok());
      });
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_TRUE(WriteAt(Below("b")).ok());
}

// The caller of a format has left, and Windows goes on with the format.
TEST_F(UnstageTest, UnstageVolumeKeepsTheDiskOnlineDuringAFormatOfAnotherVolume) {
  const std::vector<std::string> volumes = TwoVolumes();
  ASSERT_TRUE(Mkdir(Target()).ok());
  ASSERT_TRUE(Mount(volumes[0], Target()).ok());
  Delay("wmi.Invoke/MSFT_Volume.Format", absl::Hours(1), 1);
  const auto formatted = volume_->FormatVolume(context_.WithTimeout(absl::Milliseconds(300)),
                                               {.volume_id = volumes[1]});
  ASSERT_TRUE(absl::IsDeadlineExceeded(formatted.status())) << formatted.status();
  const auto unstaged = Unstage();
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_THAT(unstaged->steps, testing::Contains(StorageStep::kUnmounted));
  EXPECT_THAT(unstaged->steps, testing::Not(testing::Contains(StorageStep::kTakenOffline)));
}

// A hidden volume may be in use.
TEST_F(UnstageTest, UnstageVolumeKeepsTheDiskOnlineIfAVolumeIsHidden) {
  const std::vector<std::string> volumes = TwoVolumes();
  ASSERT_TRUE(Mkdir(Target()).ok());
  ASSERT_TRUE(Mount(volumes[0], Target()).ok());
  Change([](groups::NodeState& state) { state.disks.back().partitions[1].awaits_online = true; });
  ASSERT_EQ(Volumes(9).size(), 1u);
  const auto unstaged = Unstage();
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_THAT(unstaged->steps, ElementsAre(StorageStep::kFlushed, StorageStep::kUnmounted,
                                           StorageStep::kRemovedDirectory));
}

// The directory may be the mount of another volume before the call has its locks.
TEST_F(UnstageTest, UnstageVolumeChecksTheTargetAgainUnderTheLock) {
  const std::string first = Volume(1);
  const std::string second = Volume(2);
  for (const std::string& path : {Target(), Below("elsewhere")}) ASSERT_TRUE(Mkdir(path).ok());
  ASSERT_TRUE(Mount(first, Target()).ok());
  const auto unstaged = HeldUp(
      LockTarget(), 2, [this] { return Unstage(); },
      [&] {
        EXPECT_TRUE(Unmount(first, Target()).ok());
        EXPECT_TRUE(Mount(second, Target()).ok());
      });
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_EQ(unstaged->volume_id, second);
  EXPECT_TRUE(DiskNow(1).online);
  EXPECT_FALSE(DiskNow(2).online);
}

// Windows keeps a disk online if it is in use or critical, or if its cluster requires it
// (learn.microsoft.com/windows-hardware/drivers/storage/msft-disk-offline).
TEST_F(UnstageTest, UnstageVolumeUnmountsEvenIfWindowsKeepsTheDiskOnline) {
  for (const uint32_t refusal : {6, 41009, 41018}) {
    ASSERT_TRUE(StageDisk(1).ok());
    Fail("wmi.Invoke/MSFT_Disk.Offline", 0, refusal);
    const auto unstaged = Unstage();
    ASSERT_TRUE(unstaged.ok()) << unstaged.status();
    EXPECT_THAT(unstaged->steps, ElementsAre(StorageStep::kFlushed, StorageStep::kUnmounted,
                                             StorageStep::kRemovedDirectory));
    EXPECT_TRUE(DiskNow(1).online);
    EXPECT_THAT(unstaged->warnings, ElementsAre(testing::HasSubstr("disk 1 stays online: ")));
    ASSERT_FALSE(warnings_.empty());
    EXPECT_THAT(warnings_.back(), testing::HasSubstr("disk 1 stays online: "));
    node_->ClearFaults();
  }
  // Any other failure may be temporary.
  ASSERT_TRUE(StageDisk(1).ok());
  Fail("wmi.Invoke/MSFT_Disk.Offline", 2, 4);
  const auto unstaged = Unstage();
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_THAT(unstaged->steps, testing::Contains(StorageStep::kTakenOffline));
  EXPECT_THAT(unstaged->warnings, IsEmpty());
}

// Another call keeps the lock of the disk or of the volume while it waits for Windows.
TEST_F(UnstageTest, UnstageVolumeUnmountsEvenIfTheDiskOrVolumeIsLocked) {
  const std::string other = Below("other");
  for (const bool is_disks : {true, false}) {
    const auto staged = StageDisk(1);
    ASSERT_TRUE(staged.ok()) << staged.status();
    ASSERT_TRUE(Mkdir(other).ok());
    ASSERT_TRUE(Mount(staged->volume_id, other).ok());
    const auto lock =
        is_disks ? groups::LockDisk(locks_, context_, 1)
                 : groups::LockVolume(locks_, context_, *VolumeId::Parse(staged->volume_id));
    const CallContext brief = context_.WithTimeout(absl::Seconds(1));
    const auto unstaged = storage_->UnstageVolume(brief, {.target_path = Target()});
    ASSERT_TRUE(unstaged.ok()) << unstaged.status();
    EXPECT_THAT(unstaged->steps, testing::Contains(StorageStep::kUnmounted));
    EXPECT_THAT(unstaged->warnings, testing::Contains(testing::HasSubstr("another call holds")));
    EXPECT_TRUE(DiskNow(1).online);
    const volume::UnmountVolumeRequest unmount{.volume_id = staged->volume_id,
                                               .target_path = other};
    EXPECT_TRUE(volume_->UnmountVolume(context_.WithTimeout(absl::Seconds(1)), unmount).ok());
  }
}

TEST_F(UnstageTest, UnstageVolumeNeverTakesTheSystemDiskOffline) {
  // Windows' own volume is mounted at a folder of another disk's volume.
  ASSERT_TRUE(StageDisk(1).ok());
  const std::string inner = Target() + R"(\inner)";
  ASSERT_TRUE(Mkdir(inner).ok());
  ASSERT_TRUE(machine::simulator::NewSimulatedOs(node_->core())
                  ->SetMountPoint(inner + "\\", kSystemVolume)
                  .ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(StageDisk(0, inner).status()));
  const auto unstaged = Unstage(inner);
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_THAT(unstaged->steps, ElementsAre(StorageStep::kFlushed, StorageStep::kUnmounted,
                                           StorageStep::kRemovedDirectory));
  EXPECT_TRUE(DiskNow(0).online);
}

TEST_F(UnstageTest, UnstageVolumeUnmountsADetachedDisk) {
  ASSERT_TRUE(StageDisk(1).ok());
  ASSERT_TRUE(node_->DetachDisk(1).ok());
  const auto unstaged = Unstage();
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_THAT(unstaged->steps,
              ElementsAre(StorageStep::kUnmounted, StorageStep::kRemovedDirectory));
  EXPECT_FALSE(Exists(Target()));
}

// aws-ebs, vsphere and gcp-pd unstage volumes with these calls, even those that StageVolume staged.
TEST_F(UnstageTest, TheOlderCallsUnstageAStagedVolume) {
  const auto staged = StageDisk(1);
  ASSERT_TRUE(staged.ok()) << staged.status();
  ASSERT_TRUE(Unmount(staged->volume_id, Target()).ok());
  ASSERT_TRUE(Rmdir(Target(), true).ok());
  ASSERT_TRUE(volume_->GetDiskNumberFromVolumeID(context_, {.volume_id = staged->volume_id}).ok());
  ASSERT_TRUE(SetOnline(1, false).ok());
  EXPECT_THAT(Unstage()->steps, IsEmpty());
}

// Concurrent calls that need the same locks never deadlock.
class StageConcurrencyTest : public UnstageTest {
 protected:
  template <typename... Acts>
  void AtOnce(Acts... acts) {
    std::vector<std::thread> threads;
    (threads.emplace_back([this, acts] {
      for (int i = 0; i < 20; ++i) acts();
      ended_.fetch_add(1);
    }),
     ...);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(ended_.load(), static_cast<int>(sizeof...(acts)));
    EXPECT_EQ(locks_.size(), 0u);
  }
  std::atomic<int> ended_{0};
};

TEST_F(StageConcurrencyTest, ConcurrentCallsCanStageOneDiskAtTwoTargets) {
  const auto at = [this](const std::string& target) {
    return [this, target] {
      const auto staged = StageDisk(1, target);
      EXPECT_TRUE(staged.ok()) << staged.status();
    };
  };
  AtOnce(at(Below("a")), at(Below("b")), at(Below("a")));
  EXPECT_TRUE(WriteAt(Below("a")).ok());
  EXPECT_TRUE(Exists(Below(R"(b\written)")));
  EXPECT_EQ(Volumes(1).size(), 1u);
}

TEST_F(StageConcurrencyTest, OnlyOneOfTwoDisksIsStagedAtTheSameTarget) {
  std::atomic<int> staged{0};
  const auto of = [&](uint32_t number) {
    return [this, number, &staged] {
      const absl::Status status = StageDisk(number).status();
      EXPECT_TRUE(status.ok() || absl::IsAlreadyExists(status)) << status;
      staged.fetch_add(status.ok());
    };
  };
  AtOnce(of(1), of(2));
  EXPECT_EQ(staged.load(), 20);
  EXPECT_TRUE(WriteAt(Target()).ok());
}

TEST_F(StageConcurrencyTest, ConcurrentStageUnstageAndOlderCallsEndCleanly) {
  ASSERT_TRUE(StageDisk(1).ok());
  const std::string volume = Volumes(1).at(0);
  AtOnce([this] { (void)StageDisk(1); }, [this] { (void)Unstage(); },
         [this] { (void)StageDisk(1, Below("other")); }, [this] { (void)Unstage(Below("other")); },
         [this] { (void)Partition(1); },
         [&] { (void)volume_->WriteVolumeCache(context_, {.volume_id = volume}); },
         [this] { (void)Rmdir(Below("other")); });
  ASSERT_TRUE(Unstage().ok());
  ASSERT_TRUE(Unstage(Below("other")).ok());
  const auto staged = StageDisk(1);
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(staged->volume_id, volume);
}

}  // namespace
}  // namespace csi_proxy::storage
