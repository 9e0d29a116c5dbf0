// Tests disks and volumes on a machine as strict as Windows. Disks arrive offline or are removed,
// volumes arrive late, and the provider's cache is outdated.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/groups/strict_disk_testing.h"

namespace csi_proxy::groups {
namespace {

// The call must not add a partition and must not wait, because no volume will arrive. After an OK
// drivers would use the first volume of an empty list, because they do not check its length.
TEST_F(StrictDiskTest, PartitionDiskRefusesADiskWithOnlySystemOrForeignPartitions) {
  for (const auto type :
       {machine::simulator::PartitionType::kLinux, machine::simulator::PartitionType::kEfiSystem}) {
    for (const bool online : {true, false}) {
      Change([&](NodeState& state) {
        machine::simulator::DiskPartition partition;
        partition.number = 1;
        partition.type = type;
        partition.offset_bytes = kMiB;
        partition.size_bytes = kGiB;
        state.disks[1].online = online;
        state.disks[1].style = machine::simulator::PartitionStyle::kGpt;
        state.disks[1].partitions = {partition};
      });
      const absl::Status status = Partition(1);
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
      EXPECT_EQ(DiskNow(1).partitions.size(), 1u);
      EXPECT_EQ(DiskNow(1).online, online);
    }
  }
}

TEST_F(StrictDiskTest, PartitionDiskBringsAPartitionedOfflineDiskOnline) {
  const std::string volume = Volume(1);
  // Windows keeps these disks offline: reason 1 (policy), a disk of a SAN; reason 4 (collision), a
  // restored copy beside its original. 0 is unknown.
  for (const uint16_t reason : {0, 1, 4}) {
    ASSERT_TRUE(SetOnline(1, false).ok());
    Change([&](NodeState& state) {
      state.disks[1].facts.offline_reason = reason;
      state.disks[1].read_only = true;
    });
    const absl::Status partitioned = Partition(1);
    EXPECT_TRUE(partitioned.ok()) << partitioned;
    EXPECT_EQ(Volumes(1), std::vector<std::string>{volume});
    EXPECT_TRUE(volume_->IsVolumeFormatted(context_, {.volume_id = volume})->formatted);
  }
  // Windows keeps these disks offline: a second path to a disk, and a failing disk.
  for (const uint16_t reason : {2, 5, 6}) {
    ASSERT_TRUE(SetOnline(1, false).ok());
    Change([&](NodeState& state) { state.disks[1].facts.offline_reason = reason; });
    const absl::Status refused = Partition(1);
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_FALSE(DiskNow(1).online);
  }
}

TEST_F(StrictDiskTest, PartitionDiskMakesAnOfflineReadOnlyRawDiskUsable) {
  for (const bool again : {false, true}) {
    node_->Reset();
    Behave([&](Behaviour& behaviour) { behaviour.online_makes_read_only = again; });
    ASSERT_FALSE(DiskNow(3).online);
    ASSERT_TRUE(DiskNow(3).read_only);
    const std::string volume = Volume(3);
    EXPECT_TRUE(DiskNow(3).online);
    EXPECT_FALSE(DiskNow(3).read_only);
    EXPECT_EQ(Volumes(3), std::vector<std::string>{volume});
    ASSERT_TRUE(Mkdir(Below("m")).ok());
    ASSERT_TRUE(Mount(volume, Below("m")).ok());
    EXPECT_TRUE(WriteAt(Below("m")).ok());
  }
}

// An earlier call that ended after it brought the disk online leaves such a disk.
TEST_F(StrictDiskTest, PartitionDiskMakesAnOnlineReadOnlyRawDiskWritable) {
  Change([](NodeState& state) { state.disks[3].online = true; });
  const absl::Status partitioned = Partition(3);
  EXPECT_TRUE(partitioned.ok()) << partitioned;
  EXPECT_FALSE(DiskNow(3).read_only);
}

TEST_F(StrictDiskTest, SetDiskStateOnlineWaitsForTheDisksVolume) {
  const std::string volume = Volume(1);
  Change([](NodeState& state) { state.volume_arrival_delay = absl::Milliseconds(300); });
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(SetOnline(1, false).ok());
    EXPECT_TRUE(Volumes(1).empty());
    const absl::Status online = SetOnline(1, true);
    ASSERT_TRUE(online.ok()) << online;
    EXPECT_EQ(Volumes(1), std::vector<std::string>{volume});
  }
}

TEST_F(StrictDiskTest, SetDiskStateOnlineWaitsForAllVolumesOfTheDisk) {
  const std::vector<std::string> volumes = TwoVolumes();
  ASSERT_TRUE(SetOnline(9, false).ok());
  // This volume arrives after the first one, because automount ignores it.
  Change([](NodeState& state) { state.disks.back().partitions[1].awaits_online = true; });
  ASSERT_TRUE(SetOnline(9, true).ok());
  EXPECT_EQ(Volumes(9), volumes);
}

TEST_F(StrictDiskTest, SetDiskStateDoesNotWaitIfTheDiskWasOnline) {
  const std::vector<std::string> volumes = TwoVolumes();
  Change([](NodeState& state) { state.disks.back().partitions[1].awaits_online = true; });
  ASSERT_TRUE(SetOnline(9, true).ok());
  EXPECT_EQ(Volumes(9), std::vector<std::string>{volumes[0]});
}

TEST_F(StrictDiskTest, SetDiskStateDoesNotWaitIfTheDiskHasNoPartition) {
  Change([](NodeState& state) { state.volume_arrival_delay = absl::Hours(1); });
  const absl::Time start = absl::Now();
  EXPECT_TRUE(SetOnline(3, true).ok());
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
}

// A file system that is mounted while its disk is read-only stays read-only.
TEST_F(StrictDiskTest, SetDiskStateMakesTheDiskWritableBeforeItsVolumesArrive) {
  const std::string volume = Volume(1);
  ASSERT_TRUE(Mkdir(Below("m")).ok());
  ASSERT_TRUE(Mount(volume, Below("m")).ok());
  ASSERT_TRUE(SetOnline(1, false).ok());
  Change([](NodeState& state) { state.disks[1].read_only = true; });
  // Every flush of the file system fails.
  Inject("win32.Flush", 5, 0);
  ASSERT_TRUE(SetOnline(1, true).ok());
  EXPECT_FALSE(DiskNow(1).read_only);
  const absl::Status written = WriteAt(Below("m"));
  EXPECT_TRUE(written.ok()) << written;
}

TEST_F(StrictDiskTest, AVolumeThatWindowsMountedReadOnlyIsRemounted) {
  const std::string volume = Volume(1);
  ASSERT_TRUE(Mkdir(Below("m")).ok());
  ASSERT_TRUE(Mount(volume, Below("m")).ok());
  ASSERT_TRUE(SetOnline(1, false).ok());
  Behave([](Behaviour& behaviour) { behaviour.online_makes_read_only = true; });
  ASSERT_TRUE(SetOnline(1, true).ok());
  EXPECT_TRUE(WriteAt(Below("m")).ok());
  // A call that ended after it brought the disk online, and before it made the disk writable,
  // leaves such a disk.
  Change([](NodeState& state) {
    state.disks[1].read_only = true;
    state.disks[1].partitions[1].mounted_read_only = true;
  });
  EXPECT_FALSE(Mkdir(Below("m\\refused")).ok());
  ASSERT_TRUE(SetOnline(1, true).ok());
  EXPECT_TRUE(Mkdir(Below("m\\taken")).ok());
}

TEST_F(StrictDiskTest, AMountOfADetachedDiskCanBeUnmounted) {
  // The mount manager may or may not have forgotten the volume.
  for (const uint32_t error : {0, 2, 1117}) {
    for (const bool share : {false, true}) {
      node_->Reset();
      Behave([&](Behaviour& behaviour) { behaviour.mount_calls_share = share; });
      const std::string volume = Volume(1);
      ASSERT_TRUE(Mkdir(Below("m")).ok());
      ASSERT_TRUE(Mount(volume, Below("m")).ok());
      ASSERT_TRUE(node_->DetachDisk(1).ok());
      if (error != 0) Inject("win32.DeleteMountPoint", error);
      const absl::Status unmounted = Unmount(volume, Below("m"));
      EXPECT_TRUE(unmounted.ok()) << unmounted;
      EXPECT_TRUE(Exists(Below("m"))) << "the directory stays";
      EXPECT_FALSE(filesystem_->IsSymlink(context_, {.path = Below("m")})->is_symlink);
      EXPECT_TRUE(Mkdir(Below("m\\plain")).ok());
      EXPECT_TRUE(absl::IsNotFound(Unmount(volume, Below("m"))));
      EXPECT_TRUE(
          absl::IsNotFound(volume_->WriteVolumeCache(context_, {.volume_id = volume}).status()));
    }
  }
}

// The volume is still listed, but its disk no longer answers.
TEST_F(StrictDiskTest, AMountOfAnUnresponsiveDiskCanBeUnmounted) {
  for (const uint32_t error : {21, 55, 433, 1167}) {
    node_->Reset();
    const std::string volume = Volume(1);
    ASSERT_TRUE(Mkdir(Below("m")).ok());
    ASSERT_TRUE(Mount(volume, Below("m")).ok());
    for (const char* call : {"win32.Flush", "win32.GetFileSystem", "win32.DeleteMountPoint"}) {
      Inject(call, error, 0);
    }
    const absl::Status unmounted = Unmount(volume, Below("m"));
    EXPECT_TRUE(unmounted.ok()) << error << unmounted;
    node_->ClearFaults();
    EXPECT_FALSE(filesystem_->IsSymlink(context_, {.path = Below("m")})->is_symlink);
  }
}

TEST_F(StrictDiskTest, AMethodThatFailsOnAnOutdatedCacheIsRepeatedOnce) {
  const std::string volume = Volume(1);
  ASSERT_TRUE(node_->GrowDisk(1, 100 * kGiB).ok());
  uint64_t size = 20 * kGiB;
  const struct {
    const char* method;
    std::function<absl::Status()> call;
  } rows[] = {
      {"MSFT_Disk.Initialize", [&] { return Partition(2); }},
      {"MSFT_Disk.CreatePartition", [&] { return Partition(2); }},
      {"MSFT_Disk.Offline", [&] { return SetOnline(1, false); }},
      {"MSFT_Disk.Online", [&] { return SetOnline(1, true); }},
      {"MSFT_Volume.Format",
       [&] { return volume_->FormatVolume(context_, {.volume_id = volume}).status(); }},
      {"MSFT_Partition.Resize", [&] { return Resize(volume, size += kGiB); }},
  };
  for (const uint32_t code : {40003, 40006}) {
    for (const auto& row : rows) {
      // Disk 2 is raw again for the first rows.
      Change([](NodeState& state) {
        state.disks[2].style = machine::simulator::PartitionStyle::kRaw;
        state.disks[2].partitions.clear();
      });
      const std::string operation = absl::StrCat("wmi.Invoke/", row.method);
      Inject(operation, code, 2);
      const absl::Status twice = row.call();
      EXPECT_TRUE(absl::IsUnavailable(twice)) << row.method << twice;
      EXPECT_TRUE(absl::StrContains(twice.message(), absl::StrCat("(", code, ")"))) << twice;
      Inject(operation, code, 1);
      const absl::Status once = row.call();
      EXPECT_TRUE(once.ok()) << row.method << once;
    }
  }
}

}  // namespace
}  // namespace csi_proxy::groups
