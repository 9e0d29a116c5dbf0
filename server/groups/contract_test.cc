// What drivers rely on, one named test each.
#include <regex>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/groups/testing.h"

namespace csi_proxy::groups {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

class DiskContract : public HandlerTest {};
class FilesystemContract : public HandlerTest {};
class VolumeContract : public HandlerTest {};
class SmbContract : public HandlerTest {};
class IscsiContract : public HandlerTest {};
class SystemContract : public HandlerTest {};

TEST_P(DiskContract, PartitionDiskReturnsOnlyWhenTheVolumeCanBeListed) {
  // The default scenario lets a new volume arrive 150 ms late.
  const absl::Time start = absl::Now();
  ASSERT_TRUE(disk_->PartitionDisk(context_, {.disk_number = 1}).ok());
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(150));
  const auto volumes = volume_->ListVolumesOnDisk(context_, {.disk_number = 1});
  ASSERT_TRUE(volumes.ok());
  EXPECT_EQ(volumes->volume_ids.size(), 1u);
}

TEST_P(DiskContract, PartitionDiskOnAPartitionedDiskChangesNothing) {
  const std::string volume = Volume(1);
  ASSERT_TRUE(disk_->PartitionDisk(context_, {.disk_number = 1}).ok());
  EXPECT_TRUE(volume_->IsVolumeFormatted(context_, {.volume_id = volume})->formatted);
  EXPECT_EQ(volume_->ListVolumesOnDisk(context_, {.disk_number = 1})->volume_ids,
            std::vector<std::string>{volume});
}

TEST_P(DiskContract, PartitionDiskGoesOnWhereAFailedOneStopped) {
  Fail("disk.CreateBasicPartition");
  EXPECT_FALSE(disk_->PartitionDisk(context_, {.disk_number = 1}).ok());
  EXPECT_TRUE(disk_->PartitionDisk(context_, {.disk_number = 1}).ok());
}

TEST_P(DiskContract, ListDiskIDsSurvivesADiskThatCannotBeRead) {
  const auto ids = disk_->ListDiskIDs(context_, {});
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(ids->disk_ids.size(), 5u);
  EXPECT_EQ(ids->disk_ids.at(4).page83, "");
  EXPECT_EQ(ids->disk_ids.at(4).serial_number, "mute");
}

TEST_P(DiskContract, GetDiskNumberByNameSurvivesADiskThatCannotBeRead) {
  const auto number = disk_->GetDiskNumberByName(context_, {.disk_name = "Google  pvc-1f2e3d4c"});
  ASSERT_TRUE(number.ok()) << number.status();
  EXPECT_EQ(number->disk_number, 3u);
}

TEST_P(DiskContract, GetDiskNumberByNameNeverMatchesADiskWithoutAName) {
  EXPECT_TRUE(absl::IsInvalidArgument(disk_->GetDiskNumberByName(context_, {}).status()));
}

TEST_P(DiskContract, SerialNumberIsTheAwsVolumeIdWithoutDashes) {
  EXPECT_TRUE(absl::StrContains(disk_->ListDiskIDs(context_, {})->disk_ids.at(2).serial_number,
                                "vol0a1b2c3d4e5f60789"));
}

TEST_P(DiskContract, LocationsAreReadFromTheText) {
  const auto locations = disk_->ListDiskLocations(context_, {});
  ASSERT_TRUE(locations.ok());
  EXPECT_EQ(locations->disk_locations.at(3),
            (disk::DiskLocation{.adapter = "3", .bus = "0", .target = "1", .lun_id = "2"}));
  EXPECT_FALSE(locations->disk_locations.contains(4)) << "a disk without a place is left out";
}

TEST_P(DiskContract, BringingADiskOnlineClearsReadOnly) {
  ASSERT_TRUE(disk_->SetDiskState(context_, {.disk_number = 3, .is_online = true}).ok());
  EXPECT_FALSE(node_->Snapshot().disks[3].read_only);
  ASSERT_TRUE(disk_->SetDiskState(context_, {.disk_number = 3, .is_online = true}).ok());
  EXPECT_TRUE(disk_->PartitionDisk(context_, {.disk_number = 3}).ok());
}

TEST_P(VolumeContract, FileSystemAndAllocationUnitMayBeChosen) {
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

TEST_P(VolumeContract, IdsAreTakenWithAndWithoutTheTrailingBackslash) {
  const std::string id = Volume(1);
  EXPECT_TRUE(std::regex_match(id, std::regex(R"(\\\\\?\\Volume\{[0-9a-f-]{36}\}\\)"))) << id;
  EXPECT_TRUE(volume_->GetVolumeStats(context_, {.volume_id = id}).ok());
  EXPECT_TRUE(volume_->GetVolumeStats(context_, {.volume_id = id.substr(0, id.size() - 1)}).ok());
}

TEST_P(VolumeContract, TheDiskOfAVolumeIsFoundAfterUnmountAndRmdir) {
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

TEST_P(VolumeContract, TargetPathsComeInAnySpelling) {
  const std::string id = Volume(1);
  ASSERT_TRUE(Mkdir(Below("m")).ok());
  ASSERT_TRUE(volume_->MountVolume(context_, {.volume_id = id, .target_path = Below("m")}).ok());
  for (const char* path : {R"(C:\var\lib\kubelet\m)", R"(\var\lib\kubelet\m)", "/var/lib/kubelet/m",
                           R"(c:/VAR/lib/kubelet/M//)", R"(\\?\C:\var\lib\kubelet\m\)"}) {
    const auto found = volume_->GetVolumeIDFromTargetPath(context_, {.target_path = path});
    ASSERT_TRUE(found.ok()) << path << ": " << found.status();
    EXPECT_EQ(found->volume_id, id);
  }
}

TEST_P(VolumeContract, NotMountedHasTheWordsDriversMatch) {
  const std::regex driver(
      R"((Get-Item -Path \S+).Target, output: , error: <nil>|because it does not exist)");
  ASSERT_TRUE(Mkdir(Below("plain")).ok());
  for (const std::string& path : {Below("plain"), Below("absent"), Below("absent\\deeper")}) {
    const auto found = volume_->GetVolumeIDFromTargetPath(context_, {.target_path = path});
    EXPECT_TRUE(absl::IsNotFound(found.status())) << found.status();
    EXPECT_TRUE(std::regex_search(std::string(found.status().message()), driver)) << found.status();
  }
}

TEST_P(VolumeContract, AMountedPathIsFoundThroughALink) {
  const std::string id = Volume(1);
  ASSERT_TRUE(Mkdir(Below("m")).ok());
  ASSERT_TRUE(volume_->MountVolume(context_, {.volume_id = id, .target_path = Below("m")}).ok());
  ASSERT_TRUE(Link(Below("m"), Below("l")).ok());
  const auto found = volume_->GetVolumeIDFromTargetPath(context_, {.target_path = Below("l")});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->volume_id, id);
}

TEST_P(VolumeContract, ResizeToZeroIsTheMaximum) {
  const std::string id = Volume(1);
  ASSERT_TRUE(node_->GrowDisk(1, uint64_t{12} << 30).ok());
  ASSERT_TRUE(disk_->Rescan(context_, {}).ok());
  ASSERT_TRUE(volume_->ResizeVolume(context_, {.volume_id = id, .size_bytes = 0}).ok());
  EXPECT_GT(volume_->GetVolumeStats(context_, {.volume_id = id})->total_bytes,
            (int64_t{12} << 30) - 64 * kMiB);
}

TEST_P(VolumeContract, ResizeToNoMoreThanThereIsChangesNothing) {
  const std::string id = Volume(1);
  const int64_t size = volume_->GetVolumeStats(context_, {.volume_id = id})->total_bytes;
  for (const int64_t asked : {int64_t{1}, size / 2, size}) {
    ASSERT_TRUE(volume_->ResizeVolume(context_, {.volume_id = id, .size_bytes = asked}).ok());
    EXPECT_EQ(volume_->GetVolumeStats(context_, {.volume_id = id})->total_bytes, size);
  }
}

TEST_P(VolumeContract, GrowthBelowAHundredMebibytesIsIgnored) {
  const std::string id = Volume(1);
  const int64_t size = volume_->GetVolumeStats(context_, {.volume_id = id})->total_bytes;
  ASSERT_TRUE(node_->GrowDisk(1, uint64_t{12} << 30).ok());
  ASSERT_TRUE(disk_->Rescan(context_, {}).ok());
  ASSERT_TRUE(
      volume_->ResizeVolume(context_, {.volume_id = id, .size_bytes = size + 99 * kMiB}).ok());
  EXPECT_EQ(volume_->GetVolumeStats(context_, {.volume_id = id})->total_bytes, size);
  ASSERT_TRUE(
      volume_->ResizeVolume(context_, {.volume_id = id, .size_bytes = size + 100 * kMiB}).ok());
  EXPECT_EQ(volume_->GetVolumeStats(context_, {.volume_id = id})->total_bytes, size + 100 * kMiB);
}

TEST_P(VolumeContract, MountingWhereItIsMountedSucceeds) {
  const std::string id = Volume(1);
  ASSERT_TRUE(Mkdir(Below("m")).ok());
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(volume_->MountVolume(context_, {.volume_id = id, .target_path = Below("m")}).ok());
  }
}

TEST_P(VolumeContract, UnmountFlushesFirst) {
  const std::string id = Volume(1);
  ASSERT_TRUE(Mkdir(Below("m")).ok());
  ASSERT_TRUE(volume_->MountVolume(context_, {.volume_id = id, .target_path = Below("m")}).ok());
  Fail("volume.Flush");
  EXPECT_FALSE(volume_->UnmountVolume(context_, {.volume_id = id, .target_path = Below("m")}).ok());
  EXPECT_TRUE(volume_->GetVolumeIDFromTargetPath(context_, {.target_path = Below("m")}).ok())
      << "what could not be flushed stays mounted";
}

TEST_P(VolumeContract, FormatMakesNtfs) {
  const std::string id = Volume(1, false);
  EXPECT_FALSE(volume_->IsVolumeFormatted(context_, {.volume_id = id})->formatted);
  ASSERT_TRUE(volume_->FormatVolume(context_, {.volume_id = id, .file_system = ""}).ok());
  EXPECT_TRUE(volume_->IsVolumeFormatted(context_, {.volume_id = id})->formatted);
  EXPECT_EQ(node_->Snapshot().disks[1].partitions[1].volume->file_system, "NTFS");
}

TEST_P(VolumeContract, TheClosestVolumeIsFoundByClimbingAndFollowingLinks) {
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

TEST_P(FilesystemContract, MkdirOfAnExistingDirectorySucceeds) {
  EXPECT_TRUE(Mkdir(Below("a\\b")).ok());
  EXPECT_TRUE(Mkdir(Below("a\\b")).ok());
  EXPECT_TRUE(Mkdir(R"(C:\var\lib\kubelet)").ok());
}

TEST_P(FilesystemContract, RmdirOfANonEmptyDirectoryNeedsForce) {
  ASSERT_TRUE(Mkdir(Below("a\\b")).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Rmdir(Below("a"))));
  EXPECT_TRUE(Exists(Below("a\\b")));
  EXPECT_TRUE(Rmdir(Below("a"), true).ok());
  EXPECT_FALSE(Exists(Below("a")));
}

TEST_P(FilesystemContract, RmdirOfAnAbsentPathWithForceSucceeds) {
  EXPECT_TRUE(Rmdir(Below("none"), true).ok());
  EXPECT_TRUE(absl::IsNotFound(Rmdir(Below("none"))));
}

TEST_P(FilesystemContract, RmdirOnALinkRemovesTheLinkAlone) {
  ASSERT_TRUE(Mkdir(Below("t\\kept")).ok());
  for (const bool force : {false, true}) {
    ASSERT_TRUE(Link(Below("t"), Below("l")).ok());
    ASSERT_TRUE(Rmdir(Below("l"), force).ok());
    EXPECT_FALSE(Exists(Below("l")));
    EXPECT_TRUE(Exists(Below("t\\kept")));
  }
}

TEST_P(FilesystemContract, RmdirWithForceDoesNotFollowLinksInside) {
  ASSERT_TRUE(Mkdir(Below("t\\kept")).ok());
  ASSERT_TRUE(Mkdir(Below("a")).ok());
  ASSERT_TRUE(Link(Below("t"), Below("a\\l")).ok());
  ASSERT_TRUE(Rmdir(Below("a"), true).ok());
  EXPECT_TRUE(Exists(Below("t\\kept")));
}

TEST_P(FilesystemContract, RmdirContentsDoesNotFollowLinks) {
  ASSERT_TRUE(Mkdir(Below("t\\kept")).ok());
  ASSERT_TRUE(Mkdir(Below("a\\b")).ok());
  ASSERT_TRUE(Link(Below("t"), Below("a\\l")).ok());
  ASSERT_TRUE(filesystem_->RmdirContents(context_, {.path = Below("a")}).ok());
  EXPECT_TRUE(Exists(Below("a")));
  EXPECT_FALSE(Exists(Below("a\\l")));
  EXPECT_TRUE(Exists(Below("t\\kept")));
}

TEST_P(FilesystemContract, IsSymlinkOfALinkWhoseTargetIsGoneIsFalse) {
  ASSERT_TRUE(Mkdir(Below("t")).ok());
  ASSERT_TRUE(Link(Below("t"), Below("l")).ok());
  EXPECT_TRUE(filesystem_->IsSymlink(context_, {.path = Below("l")})->is_symlink);
  ASSERT_TRUE(Rmdir(Below("t")).ok());
  const auto gone = filesystem_->IsSymlink(context_, {.path = Below("l")});
  ASSERT_TRUE(gone.ok()) << gone.status();
  EXPECT_FALSE(gone->is_symlink);
}

TEST_P(FilesystemContract, IsSymlinkOfAnAbsentPathIsAnError) {
  EXPECT_TRUE(absl::IsNotFound(filesystem_->IsSymlink(context_, {.path = Below("none")}).status()));
}

TEST_P(FilesystemContract, IsSymlinkOfAMountPointIsTrue) {
  const std::string id = Volume(1);
  ASSERT_TRUE(Mkdir(Below("m")).ok());
  ASSERT_TRUE(volume_->MountVolume(context_, {.volume_id = id, .target_path = Below("m")}).ok());
  EXPECT_TRUE(filesystem_->IsSymlink(context_, {.path = Below("m")})->is_symlink);
}

smb::NewSmbGlobalMappingRequest Mapping(const std::string& remote, const std::string& local) {
  return {.remote_path = remote,
          .local_path = local,
          .username = R"(EXAMPLE\storage)",
          .password = "correct horse"};
}

TEST_P(SmbContract, TheRootOfTheShareIsMappedInLowerCase) {
  ASSERT_TRUE(
      smb_->NewSmbGlobalMapping(context_, Mapping("//FileServer.example/Data/reports", "")).ok());
  const auto mappings = node_->Snapshot().smb_mappings;
  ASSERT_EQ(mappings.size(), 1u);
  EXPECT_EQ(mappings[0].remote_path, R"(\\fileserver.example\data)");
}

TEST_P(SmbContract, AHealthyMappingIsReused) {
  const auto request = Mapping(R"(\\fileserver.example\data)", "");
  ASSERT_TRUE(smb_->NewSmbGlobalMapping(context_, request).ok());
  Fail("smb.CreateMapping");
  EXPECT_TRUE(smb_->NewSmbGlobalMapping(context_, request).ok()) << "nothing is made anew";
}

TEST_P(SmbContract, ABrokenMappingIsReplacedAfterAChangeOfPassword) {
  auto request = Mapping(R"(\\fileserver.example\data)", "");
  ASSERT_TRUE(smb_->NewSmbGlobalMapping(context_, request).ok());
  ASSERT_TRUE(
      node_->SetSmbPassword("fileserver.example", R"(EXAMPLE\storage)", Secret("battery")).ok());
  EXPECT_FALSE(smb_->NewSmbGlobalMapping(context_, request).ok()) << "the old password";
  request.password = "battery";
  EXPECT_TRUE(smb_->NewSmbGlobalMapping(context_, request).ok());
}

TEST_P(SmbContract, TheLinkReadsBackAsTheServersPath) {
  ASSERT_TRUE(
      smb_->NewSmbGlobalMapping(context_, Mapping("//fileserver.example/data/reports", Below("s")))
          .ok());
  const auto link = deps_.host->filesystem().ReadLink(
      context_, {*WindowsPath::Parse("p", Below("s")), deps_.roots});
  ASSERT_TRUE(link.ok());
  EXPECT_EQ(link->target, R"(\\fileserver.example\data\reports)");
  EXPECT_TRUE(link->target_exists);
}

TEST_P(SmbContract, PrivacyIsRequiredUnlessSwitchedOff) {
  smb::NewSmbGlobalMappingRequest request{.remote_path = R"(\\oldnas.example\public)",
                                          .local_path = "",
                                          .username = "guest",
                                          .password = "guest-password"};
  EXPECT_TRUE(absl::IsFailedPrecondition(smb_->NewSmbGlobalMapping(context_, request).status()));
  deps_.require_privacy = false;
  Remake();
  EXPECT_TRUE(smb_->NewSmbGlobalMapping(context_, request).ok());
}

TEST_P(SmbContract, ConcurrentCallsForOneShareDoNotRace) {
  std::vector<std::thread> callers;
  for (int i = 0; i < 16; ++i) {
    callers.emplace_back([&, i] {
      const auto answer = smb_->NewSmbGlobalMapping(
          context_, Mapping(i % 2 ? "//fileserver.example/DATA" : R"(\\FILESERVER.example\data)",
                            Below(absl::StrCat("s", i))));
      EXPECT_TRUE(answer.ok()) << answer.status();
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(node_->Snapshot().smb_mappings.size(), 1u);
}

TEST_P(SmbContract, AFailedLinkLeavesNoMappingBehind) {
  ASSERT_TRUE(Mkdir(Below("taken")).ok());
  const auto answer =
      smb_->NewSmbGlobalMapping(context_, Mapping("//fileserver.example/data", Below("taken")));
  EXPECT_TRUE(absl::IsAlreadyExists(answer.status())) << answer.status();
  EXPECT_TRUE(node_->Snapshot().smb_mappings.empty());
}

TEST_P(IscsiContract, PortZeroIs3260) {
  ASSERT_TRUE(
      iscsi_->AddTargetPortal(context_, {.target_portal = {.target_address = "10.0.0.5"}}).ok());
  const auto portals = iscsi_->ListTargetPortals(context_, {});
  ASSERT_EQ(portals->target_portals.size(), 1u);
  EXPECT_EQ(portals->target_portals[0].target_port, 3260u);
}

TEST_P(IscsiContract, AddingConnectingAndDisconnectingTwiceSucceed) {
  const iscsi::TargetPortal portal{.target_address = "10.0.0.5", .target_port = 3260};
  const std::string iqn = "iqn.2026-01.example.storage:open";
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(iscsi_->AddTargetPortal(context_, {.target_portal = portal}).ok());
  }
  for (int i = 0; i < 2; ++i) {
    iscsi::ConnectTargetRequest request;
    request.target_portal = portal;
    request.iqn = iqn;
    const auto connected = iscsi_->ConnectTarget(context_, request);
    EXPECT_TRUE(connected.ok()) << connected.status();
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(iscsi_->DisconnectTarget(context_, {.target_portal = portal, .iqn = iqn}).ok());
  }
}

TEST_P(SystemContract, StartingTheRunningAndStoppingTheStoppedSucceed) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(system_->StartService(context_, {.name = "MSiSCSI"}).ok());
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(system_->StopService(context_, {.name = "MSiSCSI"}).ok());
  }
}

TEST_P(SystemContract, StartWaitsForTheState) {
  ASSERT_TRUE(system_->StartService(context_, {.name = "MSiSCSI"}).ok());
  EXPECT_EQ(system_->GetService(context_, {.name = "MSiSCSI"})->status,
            system::ServiceStatus::kRunning);
}

TEST_P(SystemContract, ForceStopsTheDependentsFirst) {
  EXPECT_TRUE(absl::IsFailedPrecondition(
      system_->StopService(context_, {.name = "LanmanWorkstation"}).status()));
  ASSERT_TRUE(system_->StopService(context_, {.name = "LanmanWorkstation", .force = true}).ok());
  for (const char* name : {"LanmanWorkstation", "SessionEnv"}) {
    EXPECT_EQ(system_->GetService(context_, {.name = name})->status,
              system::ServiceStatus::kStopped);
  }
}

TEST_P(SystemContract, AllServicesMayBeStartedUnlessSomeAreListed) {
  ASSERT_TRUE(system_->StartService(context_, {.name = "MSiSCSI"}).ok());
  deps_.allowed_services = {"msiscsi", "LanmanWorkstation"};
  Remake();
  EXPECT_TRUE(system_->StopService(context_, {.name = "MSiSCSI"}).ok()) << "without case";
  for (const char* other : {"SessionEnv", "RpcSs"}) {
    const absl::Status started = system_->StartService(context_, {.name = other}).status();
    EXPECT_TRUE(absl::IsPermissionDenied(started)) << started;
    EXPECT_TRUE(absl::StrContains(started.message(), "--allowed-services")) << started;
    EXPECT_TRUE(absl::IsPermissionDenied(system_->StopService(context_, {.name = other}).status()));
  }
  // What depends on a listed one is not listed by that, and nothing is stopped.
  EXPECT_TRUE(absl::IsPermissionDenied(
      system_->StopService(context_, {.name = "LanmanWorkstation", .force = true}).status()));
  EXPECT_EQ(system_->GetService(context_, {.name = "SessionEnv"})->status,
            system::ServiceStatus::kRunning);
}

TEST_P(SystemContract, AWaitThatRunsOutTellsTheState) {
  machine::simulated::FaultRule slow;
  slow.operation = Operation("system.GetService");
  slow.latency = absl::Milliseconds(100);
  ASSERT_TRUE(node_->InjectFault(slow).ok());
  const CallContext hurried = context_.WithTimeout(absl::Milliseconds(90));
  const auto started = system_->StartService(hurried, {.name = "MSiSCSI"});
  EXPECT_TRUE(absl::IsDeadlineExceeded(started.status())) << started.status();
}

INSTANTIATE_TEST_SUITE_P(Hosts, DiskContract, EveryHost(), HostName);
INSTANTIATE_TEST_SUITE_P(Hosts, FilesystemContract, EveryHost(), HostName);
INSTANTIATE_TEST_SUITE_P(Hosts, VolumeContract, EveryHost(), HostName);
INSTANTIATE_TEST_SUITE_P(Hosts, SmbContract, EveryHost(), HostName);
INSTANTIATE_TEST_SUITE_P(Hosts, IscsiContract, EveryHost(), HostName);
INSTANTIATE_TEST_SUITE_P(Hosts, SystemContract, EveryHost(), HostName);

}  // namespace
}  // namespace csi_proxy::groups
