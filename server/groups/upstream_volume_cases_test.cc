// The disk and volume cases of the Go release's integration tests, rewritten: a driver that passed
// there gets the same results here. They ran on a virtual disk of 1 GiB.
#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/groups/testing.h"

namespace csi_proxy::groups {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGiB = int64_t{1} << 30;
// The virtual disk.
constexpr uint32_t kDisk = 20;

class UpstreamVolumeCases : public HandlerTest {
 protected:
  UpstreamVolumeCases() {
    // Provides a new raw, online disk, and removes the disk that answers no query.
    EXPECT_TRUE(node_->DetachDisk(4).ok());
    machine::simulator::Disk disk;
    disk.size_bytes = kGiB;
    disk.location = "Integrated : Bus 0 : Device 0 : Function 0 : Adapter 5 : Port 0 : Target 0";
    disk.page83 = "600224801234567890abcdef12345678";
    EXPECT_TRUE(node_->AttachDisk(disk, kDisk).ok());
  }

  // Expects `expected`, less at most 20 MiB that the file system itself uses.
  static void ExpectAbout(int64_t expected, int64_t actual) {
    EXPECT_GE(actual, expected - 20 * kMiB);
    EXPECT_LE(actual, expected);
  }
  int64_t TotalBytes(const std::string& volume) {
    const auto stats = volume_->GetVolumeStats(context_, {.volume_id = volume});
    EXPECT_TRUE(stats.ok()) << stats.status();
    return stats.ok() ? stats->total_bytes : 0;
  }
  bool IsFormatted(const std::string& volume) {
    const auto formatted = volume_->IsVolumeFormatted(context_, {.volume_id = volume});
    EXPECT_TRUE(formatted.ok()) << formatted.status();
    return formatted.ok() && formatted->formatted;
  }
  bool IsOnline() {
    const auto state = disk_->GetDiskState(context_, {.disk_number = kDisk});
    EXPECT_TRUE(state.ok()) << state.status();
    return state.ok() && state->is_online;
  }
  absl::Status SetOnline(bool online) {
    return disk_->SetDiskState(context_, {.disk_number = kDisk, .is_online = online}).status();
  }
};

TEST_F(UpstreamVolumeCases, DisksHaveIdentifiers) {
  const auto ids = disk_->ListDiskIDs(context_, {});
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_FALSE(ids->disk_ids.empty());
  for (const auto& [number, id] : ids->disk_ids) {
    if (id.serial_number.empty() || absl::StartsWith(id.serial_number, "nvme")) continue;
    EXPECT_NE(id.page83, "") << "disk " << number;
  }
}

TEST_F(UpstreamVolumeCases, DisksHaveLocations) {
  const auto locations = disk_->ListDiskLocations(context_, {});
  ASSERT_TRUE(locations.ok()) << locations.status();
  EXPECT_TRUE(locations->disk_locations.contains(kDisk));
}

TEST_F(UpstreamVolumeCases, ADiskHasItsSize) {
  EXPECT_TRUE(disk_->Rescan(context_, {}).ok());
  const auto stats = disk_->GetDiskStats(context_, {.disk_number = kDisk});
  ASSERT_TRUE(stats.ok()) << stats.status();
  ExpectAbout(kGiB, stats->total_bytes);
}

TEST_F(UpstreamVolumeCases, TheStateOfADiskIsSeenAndSet) {
  // Another program took the disk offline.
  node_->core()->Change(
      [](machine::simulator::NodeState& state) { state.disks.back().online = false; });
  EXPECT_FALSE(IsOnline());
  EXPECT_TRUE(SetOnline(true).ok());
  EXPECT_TRUE(IsOnline());
  EXPECT_TRUE(SetOnline(false).ok());
  EXPECT_FALSE(IsOnline());
}

TEST_F(UpstreamVolumeCases, AFreshDiskIsPartitioned) {
  EXPECT_TRUE(disk_->PartitionDisk(context_, {.disk_number = kDisk}).ok());
}

// The calls are in the order of the test of iSCSI targets.
TEST_F(UpstreamVolumeCases, ADiskIsBroughtOnlineThenPartitionedThenTakenOffline) {
  ASSERT_TRUE(SetOnline(false).ok());
  EXPECT_TRUE(SetOnline(true).ok());
  EXPECT_TRUE(disk_->PartitionDisk(context_, {.disk_number = kDisk}).ok());
  EXPECT_TRUE(SetOnline(false).ok());
}

TEST_F(UpstreamVolumeCases, AVolumeIsFormattedMeasuredGrownAndMounted) {
  ASSERT_TRUE(disk_->PartitionDisk(context_, {.disk_number = kDisk}).ok());
  const auto volumes = volume_->ListVolumesOnDisk(context_, {.disk_number = kDisk});
  ASSERT_TRUE(volumes.ok()) << volumes.status();
  ASSERT_EQ(volumes->volume_ids.size(), 1u) << "the reserved partition has none";
  const std::string& volume = volumes->volume_ids[0];
  EXPECT_FALSE(IsFormatted(volume));
  ASSERT_TRUE(volume_->FormatVolume(context_, {.volume_id = volume}).ok());
  EXPECT_TRUE(IsFormatted(volume));
  ExpectAbout(kGiB, TotalBytes(volume));

  // The disk's size is doubled without a Rescan.
  ASSERT_TRUE(node_->GrowDisk(kDisk, 2 * kGiB).ok());
  const int64_t half_more = kGiB + kGiB / 2;
  const absl::Status resized =
      volume_->ResizeVolume(context_, {.volume_id = volume, .size_bytes = half_more}).status();
  ASSERT_TRUE(resized.ok()) << resized;
  ExpectAbout(half_more, TotalBytes(volume));
  // A volume may be resized to its present size.
  EXPECT_TRUE(volume_->ResizeVolume(context_, {.volume_id = volume, .size_bytes = half_more}).ok());
  ExpectAbout(half_more, TotalBytes(volume));

  const auto number = volume_->GetDiskNumberFromVolumeID(context_, {.volume_id = volume});
  ASSERT_TRUE(number.ok()) << number.status();
  EXPECT_EQ(number->disk_number, kDisk);

  const std::string target = Below("target");
  ASSERT_TRUE(Mkdir(target).ok());
  ASSERT_TRUE(volume_->MountVolume(context_, {.volume_id = volume, .target_path = target}).ok());
  EXPECT_TRUE(Mkdir(target + "\\inside").ok());
  ASSERT_TRUE(volume_->UnmountVolume(context_, {.volume_id = volume, .target_path = target}).ok());
  EXPECT_TRUE(Exists(target)) << "the directory is left to whoever made it";
  EXPECT_FALSE(Exists(target + "\\inside"));
  EXPECT_TRUE(Rmdir(target).ok());
}

TEST_F(UpstreamVolumeCases, RefusesIdsThatAreNoVolume) {
  for (const char* id : {"", "-1", "2"}) {
    EXPECT_FALSE(volume_->IsVolumeFormatted(context_, {.volume_id = id}).ok()) << id;
    EXPECT_FALSE(volume_->FormatVolume(context_, {.volume_id = id}).ok()) << id;
    EXPECT_FALSE(volume_->ResizeVolume(context_, {.volume_id = id, .size_bytes = 2 * kMiB}).ok())
        << id;
    EXPECT_FALSE(volume_->ResizeVolume(context_, {.volume_id = id, .size_bytes = 0}).ok()) << id;
    EXPECT_FALSE(volume_->GetVolumeStats(context_, {.volume_id = id}).ok()) << id;
  }
}

TEST_F(UpstreamVolumeCases, AMountNeedsAPath) {
  const std::string volume = Volume(kDisk);
  EXPECT_FALSE(volume_->MountVolume(context_, {.volume_id = volume, .target_path = ""}).ok());
  EXPECT_FALSE(volume_->UnmountVolume(context_, {.volume_id = volume, .target_path = ""}).ok());
}

TEST_F(UpstreamVolumeCases, TheClosestVolumeOfAPath) {
  const auto closest = [&](const std::string& path) {
    const auto found = volume_->GetClosestVolumeIDFromTargetPath(context_, {.target_path = path});
    return found.ok() ? found->volume_id : found.status().ToString();
  };
  ASSERT_TRUE(Mkdir(Below("plain")).ok());
  EXPECT_EQ(closest(Below("plain")), R"(\\?\Volume{00000000-c511-4c0d-9000-000000000001}\)")
      << "the volume of C:";
  const std::string volume = Volume(kDisk);
  ASSERT_TRUE(Mkdir(Below("m")).ok());
  ASSERT_TRUE(
      volume_->MountVolume(context_, {.volume_id = volume, .target_path = Below("m")}).ok());
  ASSERT_TRUE(Mkdir(Below("m\\nested\\deep")).ok());
  EXPECT_EQ(closest(Below("m\\nested\\deep")), volume);
  ASSERT_TRUE(Link(Below("m"), Below("link")).ok());
  EXPECT_EQ(closest(Below("link")), volume);
}

// An error contains the cause of the failure.
TEST_F(UpstreamVolumeCases, TheTextOfAFailureIsPassedOn) {
  Fail("win32.ListVolumes");
  const absl::Status failed = volume_->ListVolumesOnDisk(context_, {.disk_number = kDisk}).status();
  EXPECT_TRUE(absl::StrContains(failed.message(), "Access is denied")) << failed;
}

// The root of a drive is not a folder that mounts a volume.
TEST_F(UpstreamVolumeCases, TheRootOfADriveIsNotToldOf) {
  EXPECT_FALSE(volume_->GetVolumeIDFromTargetPath(context_, {.target_path = "c:\\"}).ok());
}

}  // namespace
}  // namespace csi_proxy::groups
