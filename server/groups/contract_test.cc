// Drivers rely on these points, one named test each: disk and volume.
#include <regex>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/groups/testing.h"

namespace csi_proxy::groups {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

class DiskContract : public HandlerTest {};
class VolumeContract : public HandlerTest {};

TEST_F(DiskContract, PartitionDiskReturnsOnlyWhenTheVolumeCanBeListed) {
  // In the default scenario a new volume arrives after 150 ms.
  const absl::Time start = absl::Now();
  ASSERT_TRUE(disk_->PartitionDisk(context_, {.disk_number = 1}).ok());
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(150));
  const auto volumes = volume_->ListVolumesOnDisk(context_, {.disk_number = 1});
  ASSERT_TRUE(volumes.ok());
  EXPECT_EQ(volumes->volume_ids.size(), 1u);
}

TEST_F(DiskContract, PartitionDiskOnAPartitionedDiskChangesNothing) {
  const std::string volume = Volume(1);
  ASSERT_TRUE(disk_->PartitionDisk(context_, {.disk_number = 1}).ok());
  EXPECT_TRUE(volume_->IsVolumeFormatted(context_, {.volume_id = volume})->formatted);
  EXPECT_EQ(volume_->ListVolumesOnDisk(context_, {.disk_number = 1})->volume_ids,
            std::vector<std::string>{volume});
}

TEST_F(DiskContract, PartitionDiskGoesOnWhereAFailedOneStopped) {
  Fail("wmi.Invoke/MSFT_Disk.CreatePartition");
  EXPECT_FALSE(disk_->PartitionDisk(context_, {.disk_number = 1}).ok());
  EXPECT_TRUE(disk_->PartitionDisk(context_, {.disk_number = 1}).ok());
}

TEST_F(DiskContract, ListDiskIDsSurvivesADiskThatCannotBeRead) {
  const auto ids = disk_->ListDiskIDs(context_, {});
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(ids->disk_ids.size(), 5u);
  EXPECT_EQ(ids->disk_ids.at(4).page83, "");
  EXPECT_EQ(ids->disk_ids.at(4).serial_number, "mute");
}

TEST_F(DiskContract, GetDiskNumberByNameSurvivesADiskThatCannotBeRead) {
  const auto number = disk_->GetDiskNumberByName(context_, {.disk_name = "Google  pvc-1f2e3d4c"});
  ASSERT_TRUE(number.ok()) << number.status();
  EXPECT_EQ(number->disk_number, 3u);
}

TEST_F(DiskContract, SerialNumberIsTheAwsVolumeIdWithoutDashes) {
  EXPECT_TRUE(absl::StrContains(disk_->ListDiskIDs(context_, {})->disk_ids.at(2).serial_number,
                                "vol0a1b2c3d4e5f60789"));
}

TEST_F(DiskContract, LocationsAreReadFromTheText) {
  const auto locations = disk_->ListDiskLocations(context_, {});
  ASSERT_TRUE(locations.ok());
  EXPECT_EQ(locations->disk_locations.at(3),
            (disk::DiskLocation{.adapter = "3", .bus = "0", .target = "1", .lun_id = "2"}));
  EXPECT_FALSE(locations->disk_locations.contains(4)) << "a disk without a place is left out";
}

TEST_F(DiskContract, BringingADiskOnlineClearsReadOnly) {
  ASSERT_TRUE(disk_->SetDiskState(context_, {.disk_number = 3, .is_online = true}).ok());
  EXPECT_FALSE(node_->Snapshot().disks[3].read_only);
  ASSERT_TRUE(disk_->SetDiskState(context_, {.disk_number = 3, .is_online = true}).ok());
  EXPECT_TRUE(disk_->PartitionDisk(context_, {.disk_number = 3}).ok());
}

TEST_F(VolumeContract, FileSystemAndAllocationUnitMayBeChosen) {
  const std::string volume = Volume(1, false);
  const auto format = [&](const std::string& file_system, uint32_t unit) {
    return volume_
        ->FormatVolume(
            context_,
            {.volume_id = volume, .file_system = file_system, .allocation_unit_bytes = unit})
        .status();
  };
  EXPECT_TRUE(format("refs", 65536).ok());
  EXPECT_EQ(node_->Snapshot().disks[1].partitions[1].volume->file_system, "ReFS");
  EXPECT_TRUE(format("", 8192).ok());
  EXPECT_EQ(node_->Snapshot().disks[1].partitions[1].volume->file_system, "NTFS");
  for (const auto& [file_system, unit] :
       std::vector<std::pair<const char*, uint32_t>>{{"NTFS", 3000},
                                                     {"NTFS", 256},
                                                     {"NTFS", 4194304},
                                                     {"ReFS", 8192},
                                                     {"FAT32", 0},
                                                     {"NTFS' OR '1'='1", 0}}) {
    const absl::Status refused = format(file_system, unit);
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << file_system << " " << unit << refused;
  }
}

TEST_F(VolumeContract, IdsAreTakenWithAndWithoutTheTrailingBackslash) {
  const std::string id = Volume(1);
  EXPECT_TRUE(std::regex_match(id, std::regex(R"(\\\\\?\\Volume\{[0-9a-f-]{36}\}\\)"))) << id;
  EXPECT_TRUE(volume_->GetVolumeStats(context_, {.volume_id = id}).ok());
  EXPECT_TRUE(volume_->GetVolumeStats(context_, {.volume_id = id.substr(0, id.size() - 1)}).ok());
}

TEST_F(VolumeContract, TheDiskOfAVolumeIsFoundAfterUnmountAndRmdir) {
  const std::string id = Volume(1);
  ASSERT_TRUE(Mkdir(Below("m")).ok());
  ASSERT_TRUE(volume_->MountVolume(context_, {.volume_id = id, .target_path = Below("m")}).ok());
  ASSERT_TRUE(volume_->UnmountVolume(context_, {.volume_id = id, .target_path = Below("m")}).ok());
  ASSERT_TRUE(Rmdir(Below("m")).ok());
  const auto number = volume_->GetDiskNumberFromVolumeID(context_, {.volume_id = id});
  ASSERT_TRUE(number.ok()) << number.status();
  EXPECT_EQ(number->disk_number, 1u);
  EXPECT_TRUE(disk_->SetDiskState(context_, {.disk_number = 1, .is_online = false}).ok());
}

TEST_F(VolumeContract, NotMountedHasTheWordsDriversMatch) {
  const std::regex driver(
      R"((Get-Item -Path \S+).Target, output: , error: <nil>|because it does not exist)");
  ASSERT_TRUE(Mkdir(Below("plain")).ok());
  for (const std::string& path : {Below("plain"), Below("absent"), Below("absent\\deeper")}) {
    const auto found = volume_->GetVolumeIDFromTargetPath(context_, {.target_path = path});
    EXPECT_TRUE(absl::IsNotFound(found.status())) << found.status();
    EXPECT_TRUE(std::regex_search(std::string(found.status().message()), driver)) << found.status();
    EXPECT_EQ(found.status().message(),
              absl::StrCat("target_path: cannot find a volume mounted at \"", path,
                           "\" because it does not exist"));
  }
}

TEST_F(VolumeContract, AVolumeThatIsGoneHasTheWordsDriversMatch) {
  const std::string id = Volume(1);
  ASSERT_TRUE(Mkdir(Below("m")).ok());
  ASSERT_TRUE(volume_->MountVolume(context_, {.volume_id = id, .target_path = Below("m")}).ok());
  ASSERT_TRUE(node_->DetachDisk(1).ok());
  const auto found = volume_->GetVolumeIDFromTargetPath(context_, {.target_path = Below("m")});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->volume_id, id);
  const auto number = volume_->GetDiskNumberFromVolumeID(context_, {.volume_id = id});
  EXPECT_TRUE(absl::IsNotFound(number.status())) << number.status();
  EXPECT_EQ(number.status().message(), absl::StrCat("volume_id: cannot find the disk of volume ",
                                                    id, " because it does not exist"));
}

TEST_F(VolumeContract, AMountedPathIsFoundThroughALink) {
  const std::string id = Volume(1);
  ASSERT_TRUE(Mkdir(Below("m")).ok());
  ASSERT_TRUE(volume_->MountVolume(context_, {.volume_id = id, .target_path = Below("m")}).ok());
  ASSERT_TRUE(Link(Below("m"), Below("l")).ok());
  const auto found = volume_->GetVolumeIDFromTargetPath(context_, {.target_path = Below("l")});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->volume_id, id);
}

TEST_F(VolumeContract, ResizeToNoMoreThanThereIsChangesNothing) {
  const std::string id = Volume(1);
  const int64_t size = volume_->GetVolumeStats(context_, {.volume_id = id})->total_bytes;
  for (const int64_t asked : {int64_t{1}, size / 2, size}) {
    ASSERT_TRUE(volume_->ResizeVolume(context_, {.volume_id = id, .size_bytes = asked}).ok());
    EXPECT_EQ(volume_->GetVolumeStats(context_, {.volume_id = id})->total_bytes, size);
  }
}

TEST_F(VolumeContract, UnmountFlushesFirstAndOnlyLogsThatItCouldNot) {
  const std::string id = Volume(1);
  ASSERT_TRUE(Mkdir(Below("m")).ok());
  ASSERT_TRUE(volume_->MountVolume(context_, {.volume_id = id, .target_path = Below("m")}).ok());
  Fail("win32.Flush", 1, 1117);
  EXPECT_TRUE(volume_->UnmountVolume(context_, {.volume_id = id, .target_path = Below("m")}).ok());
  EXPECT_TRUE(node_->Snapshot().faults.empty()) << "it was flushed";
  EXPECT_TRUE(absl::IsNotFound(
      volume_->GetVolumeIDFromTargetPath(context_, {.target_path = Below("m")}).status()));
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_TRUE(absl::StrContains(warnings_[0], "was not flushed")) << warnings_[0];
}

TEST_F(VolumeContract, TheClosestVolumeIsFoundByClimbingAndFollowingLinks) {
  const std::string id = Volume(1);
  ASSERT_TRUE(Mkdir(Below("m")).ok());
  ASSERT_TRUE(volume_->MountVolume(context_, {.volume_id = id, .target_path = Below("m")}).ok());
  ASSERT_TRUE(Mkdir(Below("m\\deep\\er")).ok());
  ASSERT_TRUE(Link(Below("m\\deep"), Below("l")).ok());
  const auto closest = [&](const std::string& path) {
    const auto found = volume_->GetClosestVolumeIDFromTargetPath(context_, {.target_path = path});
    return found.ok() ? found->volume_id : found.status().ToString();
  };
  EXPECT_EQ(closest(Below("m\\deep\\er")), id);
  EXPECT_EQ(closest(Below("l\\er")), id);
  EXPECT_EQ(closest("/var/lib/kubelet/pods"),
            R"(\\?\Volume{00000000-c511-4c0d-9000-000000000001}\)");
}

}  // namespace
}  // namespace csi_proxy::groups
