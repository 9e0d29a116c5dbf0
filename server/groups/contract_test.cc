// Tests promises to drivers in disk, volume, iscsi and system. Each test has the name of a promise.
#include <regex>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/groups/testing.h"

namespace csi_proxy::groups {
namespace {

class DiskContract : public HandlerTest {};
class VolumeContract : public HandlerTest {};
class IscsiContract : public HandlerTest {};
class SystemContract : public HandlerTest {};

TEST_F(DiskContract, PartitionDiskWaitsUntilTheVolumeCanBeListed) {
  // In the default scenario a new volume arrives after 150 ms.
  const absl::Time start = absl::Now();
  ASSERT_TRUE(disk_->PartitionDisk(context_, {.disk_number = 1}).ok());
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(150));
  const auto volumes = volume_->ListVolumesOnDisk(context_, {.disk_number = 1});
  ASSERT_TRUE(volumes.ok());
  EXPECT_EQ(volumes->volume_ids.size(), 1u);
}

TEST_F(DiskContract, PartitionDiskDoesNotChangeAPartitionedDisk) {
  const std::string volume = Volume(1);
  ASSERT_TRUE(disk_->PartitionDisk(context_, {.disk_number = 1}).ok());
  EXPECT_TRUE(volume_->IsVolumeFormatted(context_, {.volume_id = volume})->formatted);
  EXPECT_EQ(volume_->ListVolumesOnDisk(context_, {.disk_number = 1})->volume_ids,
            std::vector<std::string>{volume});
}

TEST_F(DiskContract, PartitionDiskContinuesAfterAFailedCall) {
  Fail("wmi.Invoke/MSFT_Disk.CreatePartition");
  EXPECT_FALSE(disk_->PartitionDisk(context_, {.disk_number = 1}).ok());
  EXPECT_TRUE(disk_->PartitionDisk(context_, {.disk_number = 1}).ok());
}

TEST_F(DiskContract, ListDiskIDsSucceedsIfOneDiskCannotBeRead) {
  const auto ids = disk_->ListDiskIDs(context_, {});
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(ids->disk_ids.size(), 5u);
  EXPECT_EQ(ids->disk_ids.at(4).page83, "");
  EXPECT_EQ(ids->disk_ids.at(4).serial_number, "mute");
}

TEST_F(DiskContract, GetDiskNumberByNameSucceedsIfOneDiskCannotBeRead) {
  const auto number = disk_->GetDiskNumberByName(context_, {.disk_name = "Google  pvc-1f2e3d4c"});
  ASSERT_TRUE(number.ok()) << number.status();
  EXPECT_EQ(number->disk_number, 3u);
}

TEST_F(DiskContract, TheSerialNumberContainsTheAwsVolumeIdWithoutDashes) {
  EXPECT_TRUE(absl::StrContains(disk_->ListDiskIDs(context_, {})->disk_ids.at(2).serial_number,
                                "vol0a1b2c3d4e5f60789"));
}

TEST_F(DiskContract, ListDiskLocationsParsesTheLocationText) {
  const auto locations = disk_->ListDiskLocations(context_, {});
  ASSERT_TRUE(locations.ok());
  EXPECT_EQ(locations->disk_locations.at(3),
            (disk::DiskLocation{.adapter = "3", .bus = "0", .target = "1", .lun_id = "2"}));
  EXPECT_FALSE(locations->disk_locations.contains(4)) << "a disk without a place is left out";
}

TEST_F(DiskContract, BringingADiskOnlineClearsItsReadOnlyFlag) {
  ASSERT_TRUE(disk_->SetDiskState(context_, {.disk_number = 3, .is_online = true}).ok());
  EXPECT_FALSE(node_->Snapshot().disks[3].read_only);
  ASSERT_TRUE(disk_->SetDiskState(context_, {.disk_number = 3, .is_online = true}).ok());
  EXPECT_TRUE(disk_->PartitionDisk(context_, {.disk_number = 3}).ok());
}

TEST_F(DiskContract, AVolumeOfAnOnlineWritableDiskIsNotRemounted) {
  Volume(1);
  const auto is_read_only = [this] {
    return node_->Snapshot().disks[1].partitions.back().mounted_read_only;
  };
  node_->core()->Change([](machine::simulator::NodeState& state) {
    state.disks[1].partitions.back().mounted_read_only = true;
  });
  ASSERT_TRUE(disk_->SetDiskState(context_, {.disk_number = 1, .is_online = true}).ok());
  EXPECT_TRUE(is_read_only());
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
}

TEST_F(VolumeContract, VolumeIdsAreAcceptedWithAndWithoutTheTrailingBackslash) {
  const std::string id = Volume(1);
  EXPECT_TRUE(std::regex_match(id, std::regex(R"(\\\\\?\\Volume\{[0-9a-f-]{36}\}\\)"))) << id;
  EXPECT_TRUE(volume_->GetVolumeStats(context_, {.volume_id = id}).ok());
  EXPECT_TRUE(volume_->GetVolumeStats(context_, {.volume_id = id.substr(0, id.size() - 1)}).ok());
}

TEST_F(VolumeContract, AVolumesDiskIsFoundAfterUnmountAndRmdir) {
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

TEST_F(VolumeContract, TheErrorOfAnUnmountedPathHasTheTextThatDriversMatch) {
  const std::regex driver(
      R"((Get-Item -Path \S+).Target, output: , error: <nil>|because it does not exist)");
  ASSERT_TRUE(Mkdir(Below("plain")).ok());
  for (const std::string& path : {Below("plain"), Below("absent"), Below("absent\\deeper")}) {
    const auto found = volume_->GetVolumeIDFromTargetPath(context_, {.target_path = path});
    EXPECT_TRUE(absl::IsNotFound(found.status())) << found.status();
    EXPECT_TRUE(std::regex_search(std::string(found.status().message()), driver)) << found.status();
    EXPECT_EQ(
        found.status().message(),
        absl::StrCat("target_path: cannot find a volume mounted at \"", path,
                     "\" because it does not exist",
                     path != Below("plain") ? ""
                                            : absl::StrCat(" (the path exists, but no volume is "
                                                           "mounted at ",
                                                           path, ")")));
  }
}

TEST_F(VolumeContract, TheErrorOfADetachedVolumeHasTheTextThatDriversMatch) {
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

TEST_F(VolumeContract, AVolumeIsFoundThroughALinkToItsMount) {
  const std::string id = Volume(1);
  ASSERT_TRUE(Mkdir(Below("m")).ok());
  ASSERT_TRUE(volume_->MountVolume(context_, {.volume_id = id, .target_path = Below("m")}).ok());
  ASSERT_TRUE(Link(Below("m"), Below("l")).ok());
  const auto found = volume_->GetVolumeIDFromTargetPath(context_, {.target_path = Below("l")});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->volume_id, id);
}

TEST_F(VolumeContract, AResizeToASmallerSizeChangesNothing) {
  const std::string id = Volume(1);
  const int64_t size = volume_->GetVolumeStats(context_, {.volume_id = id})->total_bytes;
  for (const int64_t asked : {int64_t{1}, size / 2, size}) {
    ASSERT_TRUE(volume_->ResizeVolume(context_, {.volume_id = id, .size_bytes = asked}).ok());
    EXPECT_EQ(volume_->GetVolumeStats(context_, {.volume_id = id})->total_bytes, size);
  }
}

TEST_F(VolumeContract, UnmountFlushesFirstAndOnlyLogsAFailedFlush) {
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

TEST_F(VolumeContract, TheClosestVolumeSearchFollowsLinksAndParents) {
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

TEST_F(IscsiContract, PortZeroMeansPort3260) {
  ASSERT_TRUE(
      iscsi_->AddTargetPortal(context_, {.target_portal = {.target_address = "10.0.0.5"}}).ok());
  const auto portals = iscsi_->ListTargetPortals(context_, {});
  ASSERT_EQ(portals->target_portals.size(), 1u);
  EXPECT_EQ(portals->target_portals[0].target_port, 3260u);
}

TEST_F(IscsiContract, TheErrorSaysThatTheInitiatorServiceIsStopped) {
  const iscsi::TargetPortal portal{.target_address = "10.0.0.5", .target_port = 3260};
  ASSERT_TRUE(system_->StopService(context_, {.name = "MSiSCSI"}).ok());
  const absl::Status added = iscsi_->AddTargetPortal(context_, {.target_portal = portal}).status();
  EXPECT_TRUE(absl::StrContains(added.message(), "The service has not been started")) << added;
  ASSERT_TRUE(system_->StartService(context_, {.name = "MSiSCSI"}).ok());
  EXPECT_TRUE(iscsi_->AddTargetPortal(context_, {.target_portal = portal}).ok());
}

TEST_F(IscsiContract, TargetNamesMayBeIqnEuiOrNaa) {
  const iscsi::TargetPortal portal{.target_address = "10.0.0.5", .target_port = 3260};
  const auto connect = [&](const std::string& iqn) {
    return iscsi_->ConnectTarget(context_, {.target_portal = portal, .iqn = iqn}).status();
  };
  for (const char* name :
       {"iqn.2026-01.example:none", "EUI.02004567A425678D", "naa.52004567BA64678D"}) {
    EXPECT_TRUE(absl::IsNotFound(connect(name))) << name;
  }
  for (const char* name : {"disk1", "iqn", "na", "iqn.2026-01.example:a/b"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(connect(name))) << name;
  }
}

TEST_F(IscsiContract, AddConnectAndDisconnectCanBeRepeated) {
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

TEST_F(IscsiContract, ATargetConnectsOnlyWithTheAuthenticationItRequires) {
  using enum iscsi::AuthenticationType;
  const iscsi::TargetPortal portal{.target_address = "10.0.0.5", .target_port = 3260};
  const auto connect = [&](const char* target, iscsi::AuthenticationType type) {
    const std::string iqn = absl::StrCat("iqn.2026-01.example.storage:", target);
    return iscsi_
        ->ConnectTarget(context_, {.target_portal = portal,
                                   .iqn = iqn,
                                   .auth_type = type,
                                   .chap_username = "node-1",
                                   .chap_secret = "one-way-secret"})
        .status();
  };
  ASSERT_TRUE(iscsi_->AddTargetPortal(context_, {.target_portal = portal}).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(connect("mutual", kMutualChap))) << "it proves nothing";
  ASSERT_TRUE(iscsi_->SetMutualChapSecret(context_, {.mutual_chap_secret = "mutual-secret1"}).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(connect("chap", kMutualChap)));
  EXPECT_TRUE(absl::IsFailedPrecondition(connect("mutual", kOneWayChap)));
  EXPECT_TRUE(connect("chap", kOneWayChap).ok());
  EXPECT_TRUE(connect("mutual", kMutualChap).ok());
}

TEST_F(IscsiContract, ADisconnectedTargetHasNoDisks) {
  const iscsi::TargetPortal portal{.target_address = "10.0.0.5", .target_port = 3260};
  ASSERT_TRUE(iscsi_->AddTargetPortal(context_, {.target_portal = portal}).ok());
  const auto disks = iscsi_->GetTargetDisks(
      context_, {.target_portal = portal, .iqn = "iqn.2026-01.example.storage:open"});
  ASSERT_TRUE(disks.ok()) << disks.status();
  EXPECT_TRUE(disks->disk_numbers.empty());
  EXPECT_TRUE(
      absl::IsNotFound(iscsi_
                           ->GetTargetDisks(context_, {.target_portal = portal,
                                                       .iqn = "iqn.2026-01.example.storage:none"})
                           .status()));
}

TEST_F(IscsiContract, DiscoveryListsKnownTargetsIfTheUpdateFails) {
  const iscsi::TargetPortal portal{.target_address = "10.0.0.5", .target_port = 3260};
  ASSERT_TRUE(iscsi_->AddTargetPortal(context_, {.target_portal = portal}).ok());
  Fail("wmi.Invoke/MSFT_iSCSITargetPortal.Update", 1, 0xEFFF0003);
  const auto found = iscsi_->DiscoverTargetPortal(context_, {.target_portal = portal});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->iqns.size(), 3u);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_TRUE(absl::StrContains(warnings_[0], "10.0.0.5:3260")) << warnings_[0];
  // A call with a passed deadline fails instead of returning the known targets.
  Delay("wmi.Invoke/MSFT_iSCSITargetPortal.Update", absl::Hours(1));
  const auto late = iscsi_->DiscoverTargetPortal(context_.WithTimeout(absl::Milliseconds(50)),
                                                 {.target_portal = portal});
  EXPECT_TRUE(absl::IsDeadlineExceeded(late.status())) << late.status();
}

TEST_F(SystemContract, TheSerialNumberIsReadFromTheFirmware) {
  EXPECT_EQ(system_->GetBIOSSerialNumber(context_, {})->serial_number,
            node_->Snapshot().bios_serial_number);
}

TEST_F(SystemContract, StartAndStopCanBeRepeated) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(system_->StartService(context_, {.name = "MSiSCSI"}).ok());
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(system_->StopService(context_, {.name = "MSiSCSI"}).ok());
  }
}

// C depends on B, and B on A: stopping A stops C, then B, then A. Idle also depends on A, but has
// stopped already, so the call must not stop it.
TEST_F(SystemContract, ForceStopsChainsOfDependentsButNotStoppedServices) {
  node_->core()->Change([](machine::simulator::NodeState& state) {
    for (const auto& [name, on] : {std::pair("A", ""), {"B", "A"}, {"C", "B"}, {"Idle", "A"}}) {
      machine::simulator::Service service;
      service.name = name;
      service.state =
          service.name == "Idle" ? host::ServiceState::kStopped : host::ServiceState::kRunning;
      if (*on != 0) service.depends_on = {on};
      state.services.push_back(service);
    }
  });
  Fail("win32.StopService", 0, 5, "Idle");
  EXPECT_TRUE(system_->StopService(context_, {.name = "A", .force = true}).ok());
  for (const char* name : {"A", "B", "C", "Idle"}) {
    EXPECT_EQ(system_->GetService(context_, {.name = name})->status,
              system::ServiceStatus::kStopped);
  }
}

TEST_F(SystemContract, ForceStopsDependentServicesFirst) {
  EXPECT_TRUE(absl::IsFailedPrecondition(
      system_->StopService(context_, {.name = "LanmanWorkstation"}).status()));
  ASSERT_TRUE(system_->StopService(context_, {.name = "LanmanWorkstation", .force = true}).ok());
  for (const char* name : {"LanmanWorkstation", "SessionEnv"}) {
    EXPECT_EQ(system_->GetService(context_, {.name = name})->status,
              system::ServiceStatus::kStopped);
  }
}

// Windows may report a service that is still stopping as running already.
TEST_F(SystemContract, AServiceThatStopsDuringItsStartIsStartedOnceMore) {
  ASSERT_TRUE(system_->StopService(context_, {.name = "MSiSCSI"}).ok());
  Fail("win32.StartService", 1, 1056);
  const absl::Status started =
      system_->StartService(context_.WithTimeout(absl::Seconds(5)), {.name = "MSiSCSI"}).status();
  EXPECT_TRUE(started.ok()) << started;
}

TEST_F(SystemContract, AListOfAllowedServicesForbidsOtherServices) {
  ASSERT_TRUE(system_->StartService(context_, {.name = "MSiSCSI"}).ok());
  deps_.allowed_services = {"msiscsi", "LanmanWorkstation"};
  Remake();
  EXPECT_TRUE(system_->StopService(context_, {.name = "MSiSCSI"}).ok()) << "without case";
  for (const char* other : {"SessionEnv", "RpcSs"}) {
    const absl::Status started = system_->StartService(context_, {.name = other}).status();
    EXPECT_EQ(started, absl::PermissionDeniedError(absl::StrCat(
                           "name: service \"", other,
                           "\" may not be started or stopped: see the option allowed_services")));
    EXPECT_TRUE(absl::IsPermissionDenied(system_->StopService(context_, {.name = other}).status()));
  }
  // Permission for a service excludes its dependents, and the refused call stops no service.
  EXPECT_TRUE(absl::IsPermissionDenied(
      system_->StopService(context_, {.name = "LanmanWorkstation", .force = true}).status()));
  EXPECT_EQ(system_->GetService(context_, {.name = "SessionEnv"})->status,
            system::ServiceStatus::kRunning);
}

}  // namespace
}  // namespace csi_proxy::groups
