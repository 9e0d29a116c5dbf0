#include <functional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/machine/layouts.h"
#include "server/names/win32_error.h"
#include "server/simulator/win32/layouts_encode.h"
#include "server/simulator/win32/testing.h"

namespace csi_proxy::machine::simulator {
namespace {

class OsDoubleTest : public Win32Test {
 protected:
  // Returns the volume that is mounted at a directory, or nullopt if the directory is no link.
  std::optional<VolumeId> MountedAt(const std::string& path) {
    const auto link = host_->filesystem().ReadLink(context_, Anywhere(path));
    EXPECT_THAT(link, IsOk());
    if (!link->is_link) return std::nullopt;
    return *VolumeId::Parse(link->target);
  }
};

TEST_F(OsDoubleTest, VolumeCallsRefuseUnknownVolumesAndMostRefuseUnformattedOnes) {
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

TEST_F(OsDoubleTest, SetMountPointNeedsAnEmptyDirectory) {
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

TEST_F(OsDoubleTest, ServiceCallsFailWithTheErrorsOfWindows) {
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

// Every call must first pass the fault table, under its name in the table.
TEST_F(OsDoubleTest, EveryCallChecksTheFaultRules) {
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
      {"ListUsers", "C:\\k", [&] { return status((*root)->ListUsers("k")); }},
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
      {"GetNetworkNames", "", [&] { return status(os_->GetNetworkNames()); }},
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

}  // namespace
namespace {

using machine::Bytes;
using machine::DeviceAccess;
namespace control = machine::control;

constexpr size_t kEnough = 64 * 1024;

std::string PhysicalDrive(uint32_t number) { return absl::StrCat("\\\\.\\PhysicalDrive", number); }
std::string DeviceOf(const std::string& volume) { return volume.substr(0, volume.size() - 1); }

class DevicesTest : public Win32Test {
 protected:
  absl::StatusOr<Bytes> Ask(const std::string& device, uint32_t code, const Bytes& input = {},
                            DeviceAccess access = DeviceAccess::kReadWrite) {
    return os_->Control(device, access, code, input, kEnough);
  }
};

TEST_F(DevicesTest, ADevicePathContainsTheDiskNumber) {
  for (const uint32_t number : {0u, 7u, 4294967295u}) {
    EXPECT_EQ(DiskNumberOfPath(DevicePath(number)), number);
  }
  EXPECT_EQ(DiskNumberOfPath(absl::AsciiStrToUpper(DevicePath(12))), 12u);
  for (const std::string& other :
       {std::string(), std::string("\\\\.\\PhysicalDrive0"), DevicePath(1) + "x",
        DevicePath(1).substr(1), DeviceOf(kSystemVolume)}) {
    EXPECT_EQ(DiskNumberOfPath(other), std::nullopt) << other;
  }
}

TEST_F(DevicesTest, UnknownDevicesAreNotFound) {
  Change([](NodeState& state) { state.disks[1].awaits_rescan = true; });
  for (const std::string& device :
       {std::string(), std::string("C:"), PhysicalDrive(1), DevicePath(1), PhysicalDrive(99),
        std::string("\\\\.\\PhysicalDrive"), std::string("\\\\.\\PhysicalDrive02"),
        PhysicalDrive(10), DeviceOf(kNoVolume), std::string(kNoVolume)}) {
    EXPECT_THAT(Ask(device, control::kGetDeviceNumber), FailsWithWin32(win32_error::kFileNotFound))
        << device;
  }
  // The path names the root directory of a volume, not its device.
  EXPECT_THAT(Ask(kSystemVolume, control::kGetDeviceNumber),
              FailsWithWin32(win32_error::kAccessDenied));
  // A disk that goes offline loses its volumes, but keeps its device.
  const std::string volume = NewVolume(2);
  ASSERT_THAT(host_->disk().SetOnline(context_, 2, false), IsOk());
  EXPECT_THAT(Ask(DeviceOf(volume), control::kGetDeviceNumber),
              FailsWithWin32(win32_error::kFileNotFound));
  EXPECT_THAT(Ask(PhysicalDrive(2), control::kGetDeviceNumber), IsOk());
}

TEST_F(DevicesTest, OnlyTheQueryOfDeviceIdsIsSupported) {
  Bytes query = machine::DeviceIdQuery();
  EXPECT_THAT(Ask(DevicePath(1), control::kQueryProperty, Bytes(query.begin(), query.begin() + 7)),
              FailsWithWin32(win32_error::kInvalidParameter));
  query[0] = 0;  // StorageDeviceProperty
  EXPECT_THAT(Ask(DevicePath(1), control::kQueryProperty, query),
              FailsWithWin32(win32_error::kNotSupported));
  query = machine::DeviceIdQuery();
  query[4] = 1;  // PropertyExistsQuery
  EXPECT_THAT(Ask(DevicePath(1), control::kQueryProperty, query),
              FailsWithWin32(win32_error::kNotSupported));
}

TEST_F(DevicesTest, SetDiskAttributesChangesTheReadOnlyFlag) {
  const auto attributes = [&] {
    return *machine::ParseDiskAttributes(
        *Ask(PhysicalDrive(3), control::kGetDiskAttributes, {}, DeviceAccess::kNone));
  };
  EXPECT_TRUE(attributes().is_offline);
  EXPECT_TRUE(attributes().is_read_only);
  const Bytes clear = machine::ClearReadOnlyRequest();
  EXPECT_THAT(Ask(PhysicalDrive(3), control::kSetDiskAttributes, clear), IsOk());
  EXPECT_TRUE(attributes().is_offline);
  EXPECT_FALSE(attributes().is_read_only);

  EXPECT_THAT(Ask(PhysicalDrive(3), control::kSetDiskAttributes, {}),
              FailsWithWin32(win32_error::kInvalidParameter));
  Bytes online = clear;
  online[16] = 1;  // AttributesMask: DISK_ATTRIBUTE_OFFLINE
  EXPECT_THAT(Ask(PhysicalDrive(3), control::kSetDiskAttributes, online),
              FailsWithWin32(win32_error::kNotSupported));
}

TEST_F(DevicesTest, ControlCodesNeedTheirDeviceAndAccess) {
  const std::string volume = DeviceOf(kSystemVolume);
  for (const uint32_t code : {control::kGetDiskAttributes, control::kSetDiskAttributes}) {
    EXPECT_THAT(Ask(volume, code), FailsWithWin32(win32_error::kInvalidFunction));
  }
  EXPECT_THAT(Ask(PhysicalDrive(0), control::kGetVolumeDiskExtents),
              FailsWithWin32(win32_error::kInvalidFunction));
  EXPECT_THAT(Ask(PhysicalDrive(0), 0x70000), FailsWithWin32(win32_error::kInvalidFunction));

  EXPECT_THAT(Ask(PhysicalDrive(1), control::kGetLength, {}, DeviceAccess::kNone),
              FailsWithWin32(win32_error::kAccessDenied));
  for (const DeviceAccess access : {DeviceAccess::kNone, DeviceAccess::kRead}) {
    EXPECT_THAT(
        Ask(PhysicalDrive(3), control::kSetDiskAttributes, machine::ClearReadOnlyRequest(), access),
        FailsWithWin32(win32_error::kAccessDenied));
  }
}

TEST_F(DevicesTest, ABufferThatIsTooSmallIsAnError) {
  EXPECT_THAT(
      os_->Control(PhysicalDrive(0), DeviceAccess::kNone, control::kGetDeviceNumber, {}, 11),
      FailsWithWin32(win32_error::kMoreData));
  EXPECT_THAT(
      os_->Control(PhysicalDrive(0), DeviceAccess::kNone, control::kGetDeviceNumber, {}, 12),
      IsOk());
}

TEST_F(DevicesTest, ReadsAreInWholeSectorsUpToTheEnd) {
  const uint64_t size = node_->Snapshot().disks[1].size_bytes;
  EXPECT_EQ(os_->Read(PhysicalDrive(1), size - 512, 4096)->size(), 512u);
  EXPECT_EQ(os_->Read(PhysicalDrive(1), size, 512)->size(), 0u);
  EXPECT_THAT(os_->Read(PhysicalDrive(1), 1, 512), FailsWithWin32(win32_error::kInvalidParameter));
  EXPECT_THAT(os_->Read(PhysicalDrive(1), 0, 511), FailsWithWin32(win32_error::kInvalidParameter));
  EXPECT_THAT(os_->Read(PhysicalDrive(99), 0, 512), FailsWithWin32(win32_error::kFileNotFound));
  node_->core()->Change([](NodeState& state) { state.disks[1].online = false; });
  EXPECT_THAT(os_->Read(PhysicalDrive(1), 0, 512), FailsWithWin32(win32_error::kNotReady));
}

}  // namespace

}  // namespace csi_proxy::machine::simulator
