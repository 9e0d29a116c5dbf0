#include <atomic>
#include <functional>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "server/base/win32_error.h"
#include "server/machine/layouts.h"
#include "server/simulator/win32/testing.h"

namespace csi_proxy::machine::simulator {
namespace {

using testing::ElementsAre;

class OsDoubleTest : public Win32Test {
 protected:
  // Returns the volume that is mounted at a directory; nullopt if none is.
  std::optional<VolumeId> MountedAt(const std::string& path) {
    const auto link = host_->filesystem().ReadLink(context_, Anywhere(path));
    EXPECT_THAT(link, IsOk());
    if (!link->is_link) return std::nullopt;
    return *VolumeId::Parse(link->target);
  }

  absl::Status Map(const char* share) {
    return host_->smb().CreateMapping(context_, share,
                                      {"EXAMPLE\\storage", Secret("correct horse")}, true);
  }
};

TEST_F(OsDoubleTest, ListsVolumesThatAreThere) {
  EXPECT_THAT(*os_->ListVolumes(), ElementsAre(kSystemVolume));
  const std::string second = NewVolume(1, false);
  EXPECT_THAT(*os_->ListVolumes(), ElementsAre(kSystemVolume, second));
  ASSERT_THAT(host_->disk().SetOnline(context_, 1, false), IsOk());
  EXPECT_THAT(*os_->ListVolumes(), ElementsAre(kSystemVolume));
  ASSERT_THAT(host_->disk().SetOnline(context_, 1, true), IsOk());
  Change([](NodeState& state) {
    state.disks[1].partitions[1].arrives_at = absl::Now() + absl::Hours(1);
  });
  EXPECT_THAT(*os_->ListVolumes(), ElementsAre(kSystemVolume));
}

TEST_F(OsDoubleTest, TellsTheVolumeOfADrive) {
  EXPECT_THAT(os_->GetVolumeOfDrive('C'), Yields(kSystemVolume));
  EXPECT_THAT(os_->GetVolumeOfDrive('c'), Yields(kSystemVolume));
  EXPECT_THAT(os_->GetVolumeOfDrive('Q'), FailsWithWin32(win32_error::kFileNotFound));
}

TEST_F(OsDoubleTest, AsksVolumes) {
  EXPECT_EQ(os_->GetFileSystem(kSystemVolume)->name, "NTFS");
  EXPECT_THAT(os_->Flush(kSystemVolume), IsOk());
  const std::string raw = NewVolume(1, false);
  EXPECT_THAT(os_->GetFileSystem(raw), FailsWithWin32(win32_error::kUnrecognizedVolume));
  EXPECT_THAT(os_->GetSpace(raw), FailsWithWin32(win32_error::kUnrecognizedVolume));
  EXPECT_THAT(os_->Flush(raw), IsOk());
  const std::string device(kSystemVolume, sizeof(kSystemVolume) - 2);
  for (const auto& [volume, error] : {std::pair(std::string(kNoVolume), win32_error::kFileNotFound),
                                      std::pair(device, win32_error::kInvalidName),
                                      std::pair(std::string("C"), win32_error::kInvalidName)}) {
    EXPECT_THAT(os_->GetFileSystem(volume), FailsWithWin32(error)) << volume;
    EXPECT_THAT(os_->GetSpace(volume), FailsWithWin32(error)) << volume;
    EXPECT_THAT(os_->Flush(volume), FailsWithWin32(error)) << volume;
  }
}

TEST_F(OsDoubleTest, MeasuresSpace) {
  const auto before = os_->GetSpace(kSystemVolume);
  ASSERT_THAT(before, IsOk());
  EXPECT_EQ(before->total_bytes, 68000000000u);
  EXPECT_LT(before->free_bytes, before->total_bytes);
  ASSERT_THAT(node_->WriteFile("C:\\k\\large", kGiB, false), IsOk());
  EXPECT_EQ(os_->GetSpace(kSystemVolume)->free_bytes, before->free_bytes - kGiB - kKiB);
  // Free space must not fall below 0.
  Change([](NodeState& state) { state.disks[0].partitions[2].size_bytes = kMiB; });
  EXPECT_EQ(os_->GetSpace(kSystemVolume)->free_bytes, 0u);
}

TEST_F(OsDoubleTest, MeasuresShares) {
  constexpr char kShare[] = R"(\\fileserver.example\data)";
  const std::string directory = absl::StrCat(kShare, "\\");
  EXPECT_THAT(os_->GetSpace(directory), FailsWithWin32(win32_error::kLogonFailure));
  ASSERT_THAT(Map(kShare), IsOk());
  const auto space = os_->GetSpace(directory);
  ASSERT_THAT(space, IsOk());
  EXPECT_EQ(space->total_bytes, uint64_t{1} << 40);
  EXPECT_LE(space->free_bytes, space->total_bytes);
  EXPECT_EQ(space->available_bytes, space->free_bytes);
  EXPECT_THAT(os_->GetSpace(kShare), FailsWithWin32(win32_error::kInvalidName))
      << "it must end in a backslash";
  EXPECT_THAT(os_->GetSpace(R"(\\fileserver.example\absent\)"),
              FailsWithWin32(win32_error::kBadNetName));
}

TEST_F(OsDoubleTest, MountsAtEmptyDirectories) {
  const std::string first = NewVolume(1);
  const std::string second = NewVolume(2, false);
  ASSERT_THAT(node_->MakeDirectory("C:\\t\\a"), IsOk());
  EXPECT_THAT(os_->SetMountPoint("C:\\t\\", first), FailsWithWin32(win32_error::kDirNotEmpty));
  EXPECT_THAT(os_->SetMountPoint("C:\\", first), FailsWithWin32(win32_error::kDirNotEmpty));
  ASSERT_THAT(os_->SetMountPoint("C:\\t\\a\\", first), IsOk());
  EXPECT_EQ(MountedAt("C:\\t\\a"), *VolumeId::Parse(first));
  // A mount point fails with the same error, although it is empty.
  EXPECT_THAT(os_->SetMountPoint("C:\\t\\a\\", first), FailsWithWin32(win32_error::kDirNotEmpty));

  ASSERT_THAT(node_->MakeLink("C:\\link", "C:\\t"), IsOk());
  ASSERT_THAT(node_->WriteFile("C:\\file", 1, false), IsOk());
  EXPECT_THAT(os_->SetMountPoint("C:\\link\\", first),
              FailsWithWin32(win32_error::kReparseTagMismatch));
  EXPECT_THAT(os_->SetMountPoint("C:\\file\\", first), FailsWithWin32(win32_error::kDirectory));
  EXPECT_THAT(os_->SetMountPoint("C:\\none\\", first), FailsWithWin32(win32_error::kFileNotFound));
  EXPECT_THAT(os_->SetMountPoint("C:\\none\\a\\", first),
              FailsWithWin32(win32_error::kPathNotFound));
  EXPECT_THAT(os_->SetMountPoint("C:\\file\\a\\", first),
              FailsWithWin32(win32_error::kPathNotFound));
  EXPECT_THAT(os_->SetMountPoint("Q:\\a\\", first), FailsWithWin32(win32_error::kPathNotFound));
  ASSERT_THAT(node_->MakeDirectory("C:\\t\\b"), IsOk());
  EXPECT_THAT(os_->SetMountPoint("C:\\t\\b\\", kNoVolume),
              FailsWithWin32(win32_error::kFileNotFound));
  for (const std::string& volume : {std::string("C:\\"), first.substr(0, first.size() - 1)}) {
    EXPECT_THAT(os_->SetMountPoint("C:\\t\\b\\", volume),
                FailsWithWin32(win32_error::kInvalidParameter));
  }
  EXPECT_EQ(MountedAt("C:\\t\\b"), std::nullopt);
  // Windows mounts a volume even without a file system.
  EXPECT_THAT(os_->SetMountPoint("C:\\t\\b\\", second), IsOk());
}

TEST_F(OsDoubleTest, MountsOnVolumesByAnyWay) {
  const std::string outer = NewVolume(1);
  const std::string inner = NewVolume(2);
  ASSERT_THAT(node_->MakeDirectory("C:\\t\\outer"), IsOk());
  ASSERT_THAT(os_->SetMountPoint("C:\\t\\outer\\", outer), IsOk());
  for (const char* directory : {"a", "b", "c"}) {
    ASSERT_THAT(node_->MakeDirectory(absl::StrCat("C:\\t\\outer\\", directory)), IsOk());
  }
  ASSERT_THAT(node_->MakeLink("C:\\link", "C:\\t\\outer"), IsOk());
  ASSERT_THAT(node_->MakeLink("C:\\dangling", "C:\\none"), IsOk());
  ASSERT_THAT(node_->MakeLink("C:\\share", "\\\\fileserver.example\\data"), IsOk());
  EXPECT_THAT(os_->SetMountPoint(outer + "a\\", inner), IsOk());
  EXPECT_THAT(os_->SetMountPoint("C:\\t\\outer\\b\\", inner), IsOk());
  EXPECT_THAT(os_->SetMountPoint("C:\\link\\c\\", inner), IsOk());
  for (const char* directory : {"a", "b", "c"}) {
    EXPECT_EQ(MountedAt(absl::StrCat("C:\\t\\outer\\", directory)), *VolumeId::Parse(inner));
  }
  EXPECT_THAT(os_->SetMountPoint("C:\\dangling\\a\\", inner),
              FailsWithWin32(win32_error::kPathNotFound));
  EXPECT_THAT(os_->SetMountPoint("C:\\share\\reports\\", inner),
              FailsWithWin32(win32_error::kPathNotFound));
  EXPECT_THAT(os_->SetMountPoint(std::string(kNoVolume) + "a\\", inner),
              FailsWithWin32(win32_error::kFileNotFound));
  // The targets of two links are each other.
  ASSERT_THAT(node_->MakeLink("C:\\x", "C:\\y"), IsOk());
  ASSERT_THAT(node_->MakeLink("C:\\y", "C:\\x"), IsOk());
  EXPECT_THAT(os_->SetMountPoint("C:\\x\\a\\", inner),
              FailsWithWin32(win32_error::kCannotResolveName));
}

TEST_F(OsDoubleTest, EndsMounts) {
  const std::string volume = NewVolume(1);
  ASSERT_THAT(node_->MakeDirectory("C:\\t\\a"), IsOk());
  ASSERT_THAT(os_->SetMountPoint("C:\\t\\a\\", volume), IsOk());
  // Nothing to do.
  EXPECT_THAT(os_->DeleteMountPoint("C:\\t\\"), IsOk());
  EXPECT_THAT(os_->DeleteMountPoint(std::string(kSystemVolume) + "t\\a\\"), IsOk());
  EXPECT_EQ(MountedAt("C:\\t\\a"), std::nullopt);
  EXPECT_THAT(os_->DeleteMountPoint("C:\\t\\a\\"), IsOk());
  EXPECT_THAT(os_->GetFileSystem(volume), IsOk());
  EXPECT_THAT(os_->DeleteMountPoint("C:\\t\\none\\"), FailsWithWin32(win32_error::kFileNotFound));
  EXPECT_THAT(os_->DeleteMountPoint("C:\\k\\config\\"), FailsWithWin32(win32_error::kDirectory));
}

TEST_F(OsDoubleTest, MountsEndWhereTheVolumeIsGone) {
  ASSERT_THAT(node_->MakeDirectory("C:\\t\\a"), IsOk());
  ASSERT_THAT(os_->SetMountPoint("C:\\t\\a\\", NewVolume(1)), IsOk());
  ASSERT_THAT(node_->DetachDisk(1), IsOk());
  EXPECT_THAT(os_->SetMountPoint("C:\\t\\a\\b\\", kSystemVolume),
              FailsWithWin32(win32_error::kFileNotFound));
  EXPECT_THAT(os_->DeleteMountPoint("C:\\t\\a\\"), IsOk());
  EXPECT_EQ(MountedAt("C:\\t\\a"), std::nullopt);
}

TEST_F(OsDoubleTest, AWriteProtectedDiskKeepsItsMounts) {
  const std::string volume = NewVolume(1);
  { OpenedFile made = (*os_->OpenRoot(volume))->CreateDirectory("a"); }
  { OpenedFile made = (*os_->OpenRoot(volume))->CreateDirectory("b"); }
  ASSERT_THAT(os_->SetMountPoint(volume + "a\\", NewVolume(2)), IsOk());
  Change([](NodeState& state) { state.disks[1].read_only = true; });
  EXPECT_THAT(os_->SetMountPoint(volume + "b\\", kSystemVolume),
              FailsWithWin32(win32_error::kWriteProtect));
  EXPECT_THAT(os_->DeleteMountPoint(volume + "a\\"), FailsWithWin32(win32_error::kWriteProtect));
}

TEST_F(OsDoubleTest, ReachesServersThroughMappings) {
  const std::string share = "\\\\fileserver.example\\data";
  EXPECT_THAT(os_->Reach("\\\\nobody.example\\data"), FailsWithWin32(win32_error::kBadNetPath));
  EXPECT_THAT(os_->Reach("\\\\fileserver.example\\none"), FailsWithWin32(win32_error::kBadNetName));
  EXPECT_THAT(os_->Reach(share), FailsWithWin32(win32_error::kLogonFailure));
  ASSERT_THAT(Map("\\\\fileserver.example\\data"), IsOk());
  EXPECT_THAT(os_->Reach("\\\\FILESERVER.example\\Data"), IsOk());
  EXPECT_THAT(os_->Reach(share + "\\reports\\2026"), IsOk());
  EXPECT_THAT(os_->Reach(share + "\\readme.txt"), IsOk());
  EXPECT_THAT(os_->Reach(share + "\\none"), FailsWithWin32(win32_error::kFileNotFound));
  EXPECT_THAT(os_->Reach(share + "\\none\\a"), FailsWithWin32(win32_error::kPathNotFound));
  EXPECT_THAT(os_->Reach(share + "\\readme.txt\\a"), FailsWithWin32(win32_error::kPathNotFound));
  EXPECT_THAT(os_->Reach("\\\\fileserver.example"), FailsWithWin32(win32_error::kInvalidName));
  ASSERT_THAT(node_->BreakMapping(share), IsOk());
  EXPECT_THAT(os_->Reach(share), FailsWithWin32(win32_error::kLogonFailure));
  ASSERT_THAT(node_->SetServerReachable("fileserver.example", false), IsOk());
  EXPECT_THAT(os_->Reach(share), FailsWithWin32(win32_error::kBadNetPath));
}

TEST_F(OsDoubleTest, DescribesServices) {
  const auto service = os_->GetService("lanmanworkstation");
  ASSERT_THAT(service, IsOk());
  EXPECT_EQ(service->display_name, "Workstation");
  EXPECT_EQ(service->start_type, ServiceStartType::kAutomatic);
  EXPECT_EQ(service->state, ServiceState::kRunning);
  EXPECT_THAT(*os_->ListActiveDependents("LanmanWorkstation"), ElementsAre("SessionEnv"));
  EXPECT_THAT(*os_->ListActiveDependents("RpcSs"), ElementsAre());
}

TEST_F(OsDoubleTest, ServicesRefuseAsWindowsDoes) {
  const char* const nobody = "nobody";
  EXPECT_THAT(os_->GetService(nobody), FailsWithWin32(win32_error::kServiceDoesNotExist));
  EXPECT_THAT(os_->ListActiveDependents(nobody), FailsWithWin32(win32_error::kServiceDoesNotExist));
  EXPECT_THAT(os_->StartService(nobody), FailsWithWin32(win32_error::kServiceDoesNotExist));
  EXPECT_THAT(os_->StopService(nobody), FailsWithWin32(win32_error::kServiceDoesNotExist));

  Change([](NodeState& state) {
    for (Service& service : state.services) {
      service.start_latency = service.stop_latency = absl::Hours(1);
      if (service.name == "MSiSCSI") service.state = ServiceState::kStopped;
    }
    Service service;
    service.name = "orphan";
    service.state = ServiceState::kStopped;
    service.depends_on = {"defragsvc"};
    state.services.push_back(service);
  });
  EXPECT_THAT(os_->StartService("defragsvc"), FailsWithWin32(win32_error::kServiceDisabled));
  EXPECT_THAT(os_->StartService("orphan"), FailsWithWin32(win32_error::kServiceDependencyFailed));
  EXPECT_THAT(os_->StopService("defragsvc"), FailsWithWin32(win32_error::kServiceNotActive));
  EXPECT_THAT(os_->StopService("LanmanWorkstation"),
              FailsWithWin32(win32_error::kDependentServicesRunning));
  EXPECT_THAT(os_->StartService("RpcSs"), FailsWithWin32(win32_error::kServiceAlreadyRunning));

  ASSERT_THAT(os_->StartService("MSiSCSI"), IsOk());
  EXPECT_EQ(os_->GetService("MSiSCSI")->state, ServiceState::kStartPending);
  EXPECT_THAT(os_->StartService("MSiSCSI"), FailsWithWin32(win32_error::kServiceAlreadyRunning));
  EXPECT_THAT(os_->StopService("MSiSCSI"),
              FailsWithWin32(win32_error::kServiceCannotAcceptControl));
  ASSERT_THAT(os_->StopService("SessionEnv"), IsOk());
  EXPECT_EQ(os_->GetService("SessionEnv")->state, ServiceState::kStopPending);
  EXPECT_THAT(os_->StopService("SessionEnv"),
              FailsWithWin32(win32_error::kServiceCannotAcceptControl));
  EXPECT_THAT(os_->StartService("SessionEnv"),
              FailsWithWin32(win32_error::kServiceCannotAcceptControl));
}

TEST_F(OsDoubleTest, HasTheMachinesSerialNumber) {
  EXPECT_THAT(machine::ParseSystemSerialNumber(*os_->GetSmbiosTable()),
              Yields("VMware-42 1a 7c 2e 90 4d 11 5f-b3 8e 6a 00 27 9c d4 51"));
}

// Every call must begin with the fault table, under the call's name there.
TEST_F(OsDoubleTest, EveryCallCanFail) {
  OpenedFile root = os_->OpenRoot("C:\\");
  OpenedFile file = (*root)->Open("k", Access::kRead);
  const auto status = [](const auto& result) { return StatusOf(result); };
  const struct {
    const char* method;
    std::string resource;
    std::function<absl::Status()> call;
  } kCalls[] = {
      {"Open", "C:\\", [&] { return status(os_->OpenRoot("C:\\")); }},
      {"Open", "C:\\k\\config", [&] { return status((*file)->Open("config", Access::kRead)); }},
      {"OpenBelow", "C:\\k\\config",
       [&] {
         return status((*root)->OpenBelow({"k", "config"}, Access::kRead));
       }},
      {"CreateDirectory", "C:\\new", [&] { return status((*root)->CreateDirectory("new")); }},
      {"List", "C:\\k", [&] { return status((*file)->List()); }},
      {"GetAttributes", "C:\\k", [&] { return status((*file)->GetAttributes()); }},
      {"Delete", "C:\\k", [&] { return (*file)->Delete(); }},
      {"ReadReparsePoint", "C:\\k", [&] { return status((*file)->ReadReparsePoint()); }},
      {"WriteReparsePoint", "C:\\k", [&] { return (*file)->WriteReparsePoint({}); }},
      {"DeleteReparsePoint", "C:\\k", [&] { return (*file)->DeleteReparsePoint(0); }},
      {"Reach", "\\\\a\\b", [&] { return os_->Reach("\\\\a\\b"); }},
      {"ListVolumes", "", [&] { return status(os_->ListVolumes()); }},
      {"GetVolumeOfDrive", "C:\\", [&] { return status(os_->GetVolumeOfDrive('C')); }},
      {"GetFileSystem", kSystemVolume, [&] { return status(os_->GetFileSystem(kSystemVolume)); }},
      {"GetSpace", kSystemVolume, [&] { return status(os_->GetSpace(kSystemVolume)); }},
      {"Flush", kSystemVolume, [&] { return os_->Flush(kSystemVolume); }},
      {"SetMountPoint", "C:\\t", [&] { return os_->SetMountPoint("C:\\t\\", kSystemVolume); }},
      {"DeleteMountPoint", "C:\\t", [&] { return os_->DeleteMountPoint("C:\\t\\"); }},
      {"Control", DevicePath(1),
       [&] {
         return status(os_->Control(DevicePath(1), machine::DeviceAccess::kNone,
                                    machine::control::kGetDeviceNumber, {}, 64));
       }},
      {"Read", DevicePath(1), [&] { return status(os_->Read(DevicePath(1), 0, 512)); }},
      {"ListMountPoints", kSystemVolume,
       [&] { return status(os_->ListMountPoints(kSystemVolume)); }},
      {"GetService", "RpcSs", [&] { return status(os_->GetService("RpcSs")); }},
      {"ListActiveDependents", "RpcSs", [&] { return status(os_->ListActiveDependents("RpcSs")); }},
      {"StartService", "RpcSs", [&] { return os_->StartService("RpcSs"); }},
      {"StopService", "RpcSs", [&] { return os_->StopService("RpcSs"); }},
      {"GetSmbiosTable", "", [&] { return status(os_->GetSmbiosTable()); }},
  };
  std::set<std::string> called;
  for (const auto& c : kCalls) {
    FaultRule rule;
    rule.operation = absl::StrCat("win32.", c.method);
    rule.resource = c.resource;
    rule.times = 1;
    rule.code = absl::StatusCode::kAborted;
    rule.error = {1117, "I/O device error."};
    ASSERT_THAT(node_->InjectFault(rule), IsOk()) << c.method;
    EXPECT_THAT(c.call(), FailsWithWin32(1117)) << c.method;
    EXPECT_TRUE(node_->Snapshot().faults.empty()) << c.method;
    called.insert(rule.operation);
  }
  size_t known = 0;
  for (const absl::string_view operation : Operations()) {
    known += MatchesOperation("win32.*", operation) ? 1 : 0;
  }
  EXPECT_EQ(called.size(), known);
}

TEST_F(OsDoubleTest, AFaultWithoutAWindowsErrorHasOneAllTheSame) {
  FaultRule rule;
  rule.operation = "win32.*";
  rule.code = absl::StatusCode::kUnavailable;
  ASSERT_THAT(node_->InjectFault(rule), IsOk());
  EXPECT_THAT(os_->ListVolumes(), FailsWithWin32(win32_error::kGeneralFailure));
}

TEST_F(OsDoubleTest, IsThreadSafe) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 200;
  ASSERT_THAT(node_->MakeDirectory("C:\\t"), IsOk());
  std::atomic<int> made = 0;
  std::atomic<int> deleted = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        OpenedFile directory = Open("C:\\", {"t"});
        if ((*directory)->CreateDirectory("contended").ok()) ++made;
        OpenedFile file = (*directory)->Open("contended", Access::kDelete);
        if (file.ok() && (*file)->Delete().ok()) ++deleted;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const bool left = Open("C:\\", {"t", "contended"}).ok();
  EXPECT_EQ(made, deleted + (left ? 1 : 0));
  EXPECT_GT(made, 0);
}

}  // namespace
}  // namespace csi_proxy::machine::simulator
