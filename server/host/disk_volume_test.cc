#include "absl/time/clock.h"
#include "server/host/mount_point.h"
#include "server/host/testing.h"
#include "server/simulator/storage.h"
#include "server/simulator/win32/os_double.h"
#include "server/simulator/wmi/session.h"

namespace csi_proxy::host {
namespace {

class DiskVolumeTest : public testing::Test {
 protected:
  DiskHost& disk() { return host_->disk(); }
  VolumeHost& volume() { return host_->volume(); }

  // Initialises and partitions disk 1, and returns its volume.
  VolumeId Partitioned() {
    EXPECT_THAT(disk().InitializeGpt(context_, 1), IsOk());
    EXPECT_THAT(disk().CreateBasicPartition(context_, 1), IsOk());
    return volume().ListVolumes(context_, 1, 0)->at(0);
  }

  CallContext context_;
  std::unique_ptr<Machine> node_ = TestNode();
  std::unique_ptr<Host> host_ = NewSimulatedHost(*node_);
};

TEST_F(DiskVolumeTest, ListsDisksByNumberReadableOrNot) {
  node_ = TestNode(R"(disk { number: 9 size_bytes: 1048576 serial_number: "S9" page83: "hidden"
      page83_error { code: 21 } } disk { number: 5 size_bytes: 1048576 location: "L5" })");
  host_ = NewSimulatedHost(*node_);
  const auto locations = *disk().ListDiskLocations(context_);
  ASSERT_EQ(locations.size(), 6u);
  EXPECT_EQ(locations[4].disk_number, 5u);
  EXPECT_EQ(locations[4].location, "L5");
  const auto identities = *disk().ListDiskIdentities(context_);
  ASSERT_EQ(identities.size(), 6u);
  EXPECT_EQ(identities[1].page83, "raw");
  EXPECT_EQ(identities[1].serial_number, "S1");
  EXPECT_THAT(identities[1].status, IsOk());
  EXPECT_EQ(identities[5].page83, "");
  EXPECT_EQ(identities[5].serial_number, "S9");
  EXPECT_THAT(identities[5].status, FailsWith(kInternal, "The device is not ready. (error 0x15)"));
}

// A disk that cannot be opened is known by the page 83 that WMI has read.
TEST_F(DiskVolumeTest, KnowsDisksThatCannotBeAskedByTheirUniqueId) {
  node_ = TestNode(R"(
      disk { number: 5 size_bytes: 1048576 page83: "60022480a1b2c3d4e5f60718293a4b5c" }
      disk { number: 6 size_bytes: 1048576 page83: "Vendor Name" }
      disk { number: 7 size_bytes: 1048576 }
      fault { operation: "win32.Control" code: "INTERNAL" error { code: 21 } })");
  host_ = NewSimulatedHost(*node_);
  const auto identities = *disk().ListDiskIdentities(context_);
  ASSERT_EQ(identities.size(), 7u);
  for (const DiskIdentity& identity : identities) {
    EXPECT_THAT(identity.status, FailsWith(kInternal, "reading page 83 of disk"));
  }
  EXPECT_EQ(identities[4].page83, "60022480a1b2c3d4e5f60718293a4b5c");
  EXPECT_EQ(identities[5].page83, "Vendor Name");
  EXPECT_EQ(identities[6].page83, "");
}

TEST_F(DiskVolumeTest, DisksWithoutANumberAreWarnedOfOnceAndNotWithoutEnd) {
  std::vector<std::string> warnings;
  host_ = NewHost(machine::simulator::wmi::NewSimulatedSession(node_->core()),
                  machine::simulator::NewSimulatedOs(node_->core()),
                  [&](absl::string_view line) { warnings.emplace_back(line); });
  const auto take_number = [&](uint32_t of) {
    node_->core()->Change([&](NodeState& state) {
      for (Disk& disk : state.disks) {
        if (disk.number == of) disk.without_number = true;
      }
    });
  };
  take_number(1);
  for (int i = 0; i < 2; ++i) ASSERT_THAT(disk().ListDiskLocations(context_), IsOk());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0],
              testing::StartsWith("a disk without a number is left out of all listings: "));
  EXPECT_THAT(warnings[0], testing::HasSubstr("MSFT_Disk"));
  for (uint32_t i = 0; i < 120; ++i) {
    ASSERT_THAT(node_->AttachDisk(RawDisk(kMiB), 100 + i), IsOk());
    take_number(100 + i);
  }
  for (int i = 0; i < 2; ++i) ASSERT_THAT(disk().ListDiskIdentities(context_), IsOk());
  EXPECT_EQ(warnings.size(), 100u);
}

TEST_F(DiskVolumeTest, NoDiskOfThatNumber) {
  EXPECT_THAT(disk().GetLayout(context_, 77), HasCode(kNotFound));
  EXPECT_THAT(disk().InitializeGpt(context_, 77), HasCode(kNotFound));
  EXPECT_THAT(disk().CreateBasicPartition(context_, 77), HasCode(kNotFound));
  EXPECT_THAT(disk().GetSize(context_, 77), HasCode(kNotFound));
  EXPECT_THAT(disk().IsOnline(context_, 77), HasCode(kNotFound));
  EXPECT_THAT(disk().SetOnline(context_, 77, true), HasCode(kNotFound));
  EXPECT_THAT(volume().ListVolumes(context_, 77, 0), HasCode(kNotFound));
}

TEST_F(DiskVolumeTest, PartitionsARawDisk) {
  EXPECT_THAT(disk().CreateBasicPartition(context_, 1), FailsWith(kPrecondition, "not been init"));
  ASSERT_THAT(disk().InitializeGpt(context_, 1), IsOk());
  EXPECT_THAT(disk().InitializeGpt(context_, 1), FailsWith(kPrecondition, "already been init"));
  EXPECT_THAT(disk().CreateBasicPartition(context_, 1), IsOk());
  EXPECT_THAT(disk().CreateBasicPartition(context_, 1), FailsWith(kPrecondition, "no free space"));
  const DiskLayout layout = *disk().GetLayout(context_, 1);
  EXPECT_TRUE(layout.is_online);
  EXPECT_EQ(layout.style, PartitionStyle::kGpt);
  ASSERT_EQ(layout.partitions.size(), 2u);
  EXPECT_FALSE(layout.partitions[0].is_basic);
  EXPECT_EQ(layout.partitions[1].partition_number, 2u);
  EXPECT_TRUE(layout.partitions[1].is_basic);
}

TEST_F(DiskVolumeTest, RefusesOfflineProtectedAndTinyDisks) {
  EXPECT_THAT(disk().InitializeGpt(context_, 3), FailsWith(kPrecondition, "offline"));
  ASSERT_THAT(disk().SetOnline(context_, 3, true), IsOk());
  EXPECT_THAT(disk().InitializeGpt(context_, 3), IsOk());  // no longer read-only
  const uint32_t tiny = *node_->AttachDisk(RawDisk(kMiB));
  EXPECT_THAT(disk().InitializeGpt(context_, tiny), FailsWith(kInternal, "not large enough"));
  const uint32_t locked = *node_->AttachDisk([] {
    Disk disk = RawDisk(kGiB);
    disk.read_only = true;
    return disk;
  }());
  EXPECT_THAT(disk().InitializeGpt(context_, locked), FailsWith(kPrecondition, "read only"));
}

TEST_F(DiskVolumeTest, TheSystemDiskStaysOnline) {
  EXPECT_THAT(disk().SetOnline(context_, 0, false),
              FailsWith(kPrecondition, "Windows runs on disk 0"));
  EXPECT_THAT(disk().IsOnline(context_, 0), Yields(true));
  EXPECT_THAT(disk().IsOnline(context_, 3), Yields(false));
}

TEST_F(DiskVolumeTest, AVolumeArrivesAfterTheDelay) {
  node_ = TestNode("volume_arrival_ms: 60");
  host_ = NewSimulatedHost(*node_);
  ASSERT_THAT(disk().InitializeGpt(context_, 1), IsOk());
  ASSERT_THAT(disk().CreateBasicPartition(context_, 1), IsOk());
  EXPECT_THAT(volume().ListVolumes(context_, 1, 0), Yields(std::vector<VolumeId>{}));
  EXPECT_THAT(volume().ListVolumes(context_, 1, 2), Yields(std::vector<VolumeId>{}));
  EXPECT_THAT(volume().ListVolumes(context_, 1, 3), HasCode(kNotFound));
  const absl::Time limit = absl::Now() + absl::Seconds(10);
  while (volume().ListVolumes(context_, 1, 0)->empty() && absl::Now() < limit) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_EQ(volume().ListVolumes(context_, 1, 0)->size(), 1u);
}

TEST_F(DiskVolumeTest, VolumeIdsAreDeterministicAndNeverReused) {
  const VolumeId first = Partitioned();
  ASSERT_THAT(node_->DetachDisk(1), IsOk());
  EXPECT_THAT(volume().GetFileSystem(context_, first), HasCode(kNotFound));
  ASSERT_THAT(node_->AttachDisk(RawDisk(kGiB, "S1"), 1), Yields(1u));
  const VolumeId second = Partitioned();
  EXPECT_NE(first, second);
  node_->Reset();
  EXPECT_EQ(Partitioned(), first);
}

TEST_F(DiskVolumeTest, NoSuchVolume) {
  const VolumeId none = TestVolume(9);
  EXPECT_THAT(volume().GetFileSystem(context_, none), HasCode(kNotFound));
  EXPECT_THAT(volume().Format(context_, none, {}), HasCode(kNotFound));
  EXPECT_THAT(volume().GetSize(context_, none), HasCode(kNotFound));
  EXPECT_THAT(volume().GetGrowthRoom(context_, none), HasCode(kNotFound));
  EXPECT_THAT(volume().Resize(context_, none, kGiB, ResizeTo::kExactly), HasCode(kNotFound));
  EXPECT_THAT(volume().GetStats(context_, none), HasCode(kNotFound));
  EXPECT_THAT(volume().GetDiskNumber(context_, none), HasCode(kNotFound));
  EXPECT_THAT(volume().Mount(context_, none, Kubelet("pods\\p1")), HasCode(kNotFound));
  EXPECT_THAT(volume().Flush(context_, none), HasCode(kNotFound));
}

TEST_F(DiskVolumeTest, Formats) {
  const VolumeId id = Partitioned();
  EXPECT_THAT(volume().GetFileSystem(context_, id), Yields(""));
  EXPECT_THAT(volume().GetStats(context_, id), HasCode(kPrecondition));
  EXPECT_THAT(volume().Mount(context_, id, Kubelet("pods\\p1")), HasCode(kPrecondition));
  EXPECT_THAT(volume().Format(context_, id, {.file_system = "ext4"}),
              FailsWith(kPrecondition, "ask for another one"));
  EXPECT_THAT(volume().Format(context_, id, {.allocation_unit_bytes = 3}), HasCode(kPrecondition));
  EXPECT_THAT(volume().Format(context_, id, {.allocation_unit_bytes = 65536}), IsOk());
  EXPECT_THAT(volume().GetFileSystem(context_, id), Yields("NTFS"));
  EXPECT_THAT(volume().Flush(context_, id), IsOk());
  EXPECT_THAT(volume().Format(context_, TestVolume(1), {}), FailsWith(kPrecondition, "system"));

  ASSERT_THAT(volume().Mount(context_, id, Kubelet("pods\\p1")), IsOk());
  ASSERT_THAT(node_->WriteFile("C:\\var\\lib\\kubelet\\pods\\p1\\f", 1, false), IsOk());
  ASSERT_THAT(volume().Format(context_, id, {.file_system = "refs"}), IsOk());
  EXPECT_THAT(volume().GetFileSystem(context_, id), Yields("ReFS"));
  EXPECT_THAT(host_->filesystem().Exists(context_, Kubelet("pods\\p1\\f")), Yields(false));
}

TEST_F(DiskVolumeTest, UsageFollowsTheFiles) {
  const auto used = [&] { return volume().GetStats(context_, TestVolume(2))->used_bytes; };
  ASSERT_THAT(volume().Mount(context_, TestVolume(2), Kubelet("pods\\p1")), IsOk());
  const uint64_t before = used();
  EXPECT_EQ(volume().GetStats(context_, TestVolume(2))->total_bytes, 512 * kMiB);
  ASSERT_THAT(node_->WriteFile("C:\\var\\lib\\kubelet\\pods\\p1\\f", 10000, false), IsOk());
  EXPECT_EQ(used(), before + 12288 + 1024);
  ASSERT_THAT(host_->filesystem().Remove(context_, Kubelet("pods\\p1\\f"), false), IsOk());
  EXPECT_EQ(used(), before);
}

TEST_F(DiskVolumeTest, ResizesWithinItsLimits) {
  const VolumeId id = TestVolume(2);
  const uint64_t most = volume().GetGrowthRoom(context_, id)->size_bytes;
  EXPECT_EQ(most, kGiB - 2 * kMiB);
  EXPECT_THAT(volume().Resize(context_, id, most + 1, ResizeTo::kExactly),
              FailsWith(kInternal, "0x1001"));
  EXPECT_THAT(volume().Resize(context_, id, kMiB, ResizeTo::kExactly), HasCode(kInternal));
  EXPECT_THAT(volume().Resize(context_, id, most, ResizeTo::kExactly), IsOk());
  EXPECT_THAT(volume().GetSize(context_, id), Yields(most));
  EXPECT_THAT(volume().Resize(context_, id, 512 * kMiB, ResizeTo::kExactly), IsOk());
  ASSERT_THAT(volume().Format(context_, id, {.file_system = "FAT32"}), IsOk());
  EXPECT_THAT(volume().Resize(context_, id, most, ResizeTo::kExactly),
              FailsWith(kPrecondition, "cannot be res"));
}

TEST_F(DiskVolumeTest, GrowthIsNoticedAtTheNextRescan) {
  ASSERT_THAT(node_->GrowDisk(2, 2 * kGiB), IsOk());
  EXPECT_THAT(node_->GrowDisk(2, 2 * kGiB), HasCode(kInvalid));
  EXPECT_THAT(node_->GrowDisk(77, 2 * kGiB), HasCode(kNotFound));
  EXPECT_THAT(disk().GetSize(context_, 2), Yields(kGiB));
  ASSERT_THAT(disk().Rescan(context_), IsOk());
  EXPECT_THAT(disk().GetSize(context_, 2), Yields(2 * kGiB));
  EXPECT_EQ(volume().GetGrowthRoom(context_, TestVolume(2))->size_bytes, 2 * kGiB - 2 * kMiB);
}

TEST_F(DiskVolumeTest, ADiskMayAwaitARescan) {
  ASSERT_THAT(node_->AttachDisk(
                  [] {
                    Disk disk = RawDisk(kGiB);
                    disk.awaits_rescan = true;
                    return disk;
                  }(),
                  40),
              Yields(40u));
  EXPECT_THAT(disk().GetSize(context_, 40), HasCode(kNotFound));
  ASSERT_THAT(disk().Rescan(context_), IsOk());
  EXPECT_THAT(disk().GetSize(context_, 40), Yields(kGiB));
}

TEST_F(DiskVolumeTest, MountsAtAnEmptyDirectory) {
  const VolumeId id = TestVolume(2);
  EXPECT_THAT(volume().Mount(context_, id, Kubelet("absent")), HasCode(kNotFound));
  EXPECT_THAT(volume().Mount(context_, id, Kubelet("pods")), FailsWith(kPrecondition, "not empty"));
  EXPECT_THAT(volume().Mount(context_, id, Kubelet("file.txt")), HasCode(kPrecondition));
  ASSERT_THAT(node_->MakeLink("C:\\var\\lib\\kubelet\\l", "C:\\var\\lib\\kubelet\\pods\\p1"),
              IsOk());
  EXPECT_THAT(volume().Mount(context_, id, Kubelet("l")), HasCode(kPrecondition));
  EXPECT_THAT(volume().Mount(context_, TestVolume(1), Kubelet("pods\\p1")),
              FailsWith(kPrecondition, "itself"));
  EXPECT_THAT(volume().Mount(context_, id, Kubelet("pods\\p1")), IsOk());
  EXPECT_THAT(volume().Mount(context_, id, Kubelet("pods\\p1")), IsOk());
  const VolumeId other = Partitioned();
  ASSERT_THAT(volume().Format(context_, other, {}), IsOk());
  EXPECT_THAT(volume().Mount(context_, other, Kubelet("pods\\p1")), HasCode(kExists));

  EXPECT_THAT(volume().GetVolumeAtMountPoint(context_, Kubelet("pods\\p1")), Yields(id));
  EXPECT_THAT(volume().GetVolumeAtMountPoint(context_, Kubelet("l")), Yields(id));
  EXPECT_THAT(volume().GetVolumeAtMountPoint(context_, Kubelet("pods")), HasCode(kNotFound));
  EXPECT_THAT(volume().GetVolumeAtMountPoint(context_, Kubelet("absent")),
              FailsWith(kNotFound, "because it does not exist"));
  EXPECT_THAT(volume().GetVolumeAtMountPoint(context_, Anywhere("C:\\")), Yields(TestVolume(1)));
  EXPECT_THAT(volume().GetVolumeHolding(context_, Kubelet("pods\\p1")), Yields(id));
  EXPECT_THAT(volume().GetVolumeHolding(context_, Kubelet("pods")), Yields(TestVolume(1)));
  EXPECT_THAT(volume().GetVolumeHolding(context_, Kubelet("absent")), HasCode(kNotFound));
}

// Windows reads a plain path literally only if each of its names is an ordinary one.
TEST(MountPointNameTest, IsPlainWhereItCanBe) {
  EXPECT_EQ(MountPointName("C:\\a"), "C:\\a\\");
  EXPECT_EQ(MountPointName("C:\\a b\\c.d\\"), "C:\\a b\\c.d\\");
  EXPECT_EQ(MountPointName("C:\\a\\con"), "\\\\?\\C:\\a\\con\\");
  EXPECT_EQ(MountPointName("C:\\a\\b."), "\\\\?\\C:\\a\\b.\\");
  EXPECT_EQ(MountPointName("\\\\?\\Volume{x}\\a"), "\\\\?\\Volume{x}\\a\\");
  // 260 UTF-16 units, including the NUL.
  const auto path = [](size_t length) {
    return "C:\\" + std::string(200, 'a') + "\\" + std::string(length - 205, 'b') + "\\";
  };
  EXPECT_EQ(MountPointName(path(259)), path(259));
  EXPECT_EQ(MountPointName(path(260)), "\\\\?\\" + path(260));
  std::string wide = "C:\\";
  for (int i = 0; i < 125; ++i) wide += "\xC3\xA9";
  EXPECT_EQ(MountPointName(wide), wide + "\\");
}

TEST_F(DiskVolumeTest, UnmountsAndStaysKnown) {
  const VolumeId id = TestVolume(2);
  ASSERT_THAT(volume().Mount(context_, id, Kubelet("pods\\p1")), IsOk());
  EXPECT_THAT(volume().Unmount(context_, TestVolume(1), Kubelet("pods\\p1")),
              HasCode(kPrecondition));
  EXPECT_THAT(volume().Unmount(context_, id, Kubelet("pods")), HasCode(kNotFound));
  EXPECT_THAT(volume().Unmount(context_, id, Kubelet("absent")), HasCode(kNotFound));
  EXPECT_THAT(volume().Unmount(context_, id, Kubelet("pods\\p1")), IsOk());
  EXPECT_THAT(volume().Unmount(context_, id, Kubelet("pods\\p1")), HasCode(kNotFound));
  EXPECT_THAT(host_->filesystem().Remove(context_, Kubelet("pods\\p1"), false), IsOk());
  EXPECT_THAT(volume().GetDiskNumber(context_, id), Yields(2u));
  EXPECT_THAT(disk().SetOnline(context_, 2, false), IsOk());
  EXPECT_THAT(volume().GetDiskNumber(context_, id), HasCode(kNotFound));
  EXPECT_THAT(volume().ListVolumes(context_, 2, 0), Yields(std::vector<VolumeId>{}));
  EXPECT_THAT(disk().SetOnline(context_, 2, true), IsOk());
  EXPECT_THAT(volume().GetDiskNumber(context_, id), Yields(2u));
}

}  // namespace
}  // namespace csi_proxy::host
