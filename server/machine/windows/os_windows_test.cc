#include "server/machine/windows/testing_windows.h"
// The headers below must follow testing_windows.h.
#include <gmock/gmock.h>
#include <winioctl.h>

#include <thread>

#include "absl/time/clock.h"
#include "server/machine/windows/device_changes_windows.h"
#include "server/names/volume_id.h"

namespace csi_proxy::machine {
namespace {

using std::string_literals::operator""s;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// A service that starts manually and has no dependents, under Wine and on Windows.
constexpr char kIdleService[] = "Spooler";
constexpr char kRunningService[] = "PlugPlay";

constexpr char kNoVolume[] = R"(\\?\Volume{12345678-0000-0000-0000-123456789012}\)";

class OsTest : public testing::Test {
 protected:
  void Await(const char* service, ServiceState state) {
    for (int i = 0; i < 500 && os_->GetService(service)->state != state; ++i) {
      absl::SleepFor(absl::Milliseconds(20));
    }
    EXPECT_EQ(os_->GetService(service)->state, state) << service;
  }

  const std::unique_ptr<Os> os_ = NewOs();
};

TEST_F(OsTest, NewOsSetsErrorModeAndPrivileges) {
  SetErrorMode(0);
  NewOs();
  EXPECT_EQ(GetErrorMode(), UINT{SEM_FAILCRITICALERRORS});
  win32::UniqueHandle token;
  HANDLE opened = nullptr;
  ASSERT_TRUE(OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &opened));
  token.Reset(opened);
  for (const wchar_t* name : {SE_BACKUP_NAME, SE_RESTORE_NAME, SE_CREATE_SYMBOLIC_LINK_NAME}) {
    // Wine's administrator does not hold the privilege to create links.
    if (IsWine() && name == std::wstring_view(SE_CREATE_SYMBOLIC_LINK_NAME)) continue;
    PRIVILEGE_SET asked{};
    asked.PrivilegeCount = 1;
    ASSERT_TRUE(LookupPrivilegeValueW(nullptr, name, &asked.Privilege[0].Luid));
    BOOL enabled = FALSE;
    ASSERT_TRUE(PrivilegeCheck(token.get(), &asked, &enabled));
    EXPECT_TRUE(enabled) << win32::Utf8(name);
  }
}

TEST_F(OsTest, VolumesAreListedAndFoundByTheirDrive) {
  const auto volume = os_->GetVolumeOfDrive('C');
  ASSERT_TRUE(volume.ok()) << volume.status();
  EXPECT_EQ(*os_->GetVolumeOfDrive('c'), *volume);
  EXPECT_EQ(Code(os_->GetVolumeOfDrive('Q')), ERROR_FILE_NOT_FOUND);

  const auto volumes = os_->ListVolumes();
  ASSERT_TRUE(volumes.ok()) << volumes.status();
  EXPECT_THAT(*volumes, Contains(*volume));
  for (const std::string& each : *volumes) EXPECT_EQ(VolumeId::Parse(each)->ToString(), each);

  EXPECT_EQ(os_->GetFileSystem(*volume)->name, "NTFS");
  EXPECT_FALSE(os_->GetFileSystem(*volume)->read_only);
  const auto space = os_->GetSpace(*volume);
  ASSERT_TRUE(space.ok()) << space.status();
  EXPECT_GT(space->total_bytes, 0u);
  EXPECT_GT(space->free_bytes, 0u);
  EXPECT_LE(space->free_bytes, space->total_bytes);

  EXPECT_NE(Code(os_->GetFileSystem(kNoVolume)), 0);
  EXPECT_NE(Code(os_->GetSpace(kNoVolume)), 0);
  EXPECT_GT(Code(os_->Flush(kNoVolume)), 0);
}

TEST_F(OsTest, FlushFlushesTheVolume) {
  const absl::Status flushed = os_->Flush(*os_->GetVolumeOfDrive('C'));
  if (IsWine()) {
    // Wine opens the volume by either name, but can flush files only.
    EXPECT_THAT(flushed.message(), HasSubstr("FlushFileBuffers: "));
  } else {
    EXPECT_TRUE(flushed.ok()) << flushed;
  }
}

TEST_F(OsTest, MountPointCallsFailForMissingDirectoriesAndInvalidNames) {
  const std::string volume = *os_->GetVolumeOfDrive('C');
  // Wine has no mount points.
  const int64_t expected = IsWine() ? ERROR_CALL_NOT_IMPLEMENTED : ERROR_FILE_NOT_FOUND;
  EXPECT_EQ(Code(os_->SetMountPoint("C:\\absent\\", volume)), expected);
  EXPECT_EQ(Code(os_->DeleteMountPoint("C:\\absent\\")), expected);
  EXPECT_EQ(Code(os_->SetMountPoint("C:\\absent\0"s, volume)), ERROR_INVALID_NAME);
  EXPECT_EQ(Code(os_->SetMountPoint("C:\\absent", volume + "\0"s)), ERROR_INVALID_NAME);
  EXPECT_EQ(Code(os_->DeleteMountPoint("C:\\windows\0a"s)), ERROR_INVALID_NAME);
}

TEST_F(OsTest, ListMountPointsReturnsTheDriveOfAVolume) {
  const auto points = os_->ListMountPoints(*os_->GetVolumeOfDrive('C'));
  ASSERT_TRUE(points.ok()) << points.status();
  EXPECT_THAT(*points, Contains("C:\\"));
  EXPECT_GT(Code(os_->ListMountPoints(kNoVolume)), 0);
  EXPECT_EQ(Code(os_->ListMountPoints("a\0b"s)), ERROR_INVALID_NAME);
}

TEST_F(OsTest, ReadReturnsBytesFromAnOffsetUpToTheEnd) {
  // Reads a file, because opening a disk needs rights that the test may lack.
  const std::string path = R"(C:\windows\Temp\csi_proxy_os_windows_test)";
  {
    const win32::UniqueHandle file(CreateFileW(win32::Utf16(path).c_str(), GENERIC_WRITE, 0,
                                               nullptr, CREATE_ALWAYS, 0, nullptr));
    ASSERT_TRUE(file.valid());
    DWORD written = 0;
    const std::string text = std::string(1024, 'a') + std::string(1024, 'b');
    ASSERT_TRUE(WriteFile(file.get(), text.data(), 2048, &written, nullptr));
  }
  EXPECT_EQ(*os_->Read(path, 512, 512), Bytes(512, 'a'));
  EXPECT_EQ(*os_->Read(path, 1024, 4096), Bytes(1024, 'b'));
  EXPECT_EQ(*os_->Read(path, 2048, 512), Bytes());
  EXPECT_TRUE(DeleteFileW(win32::Utf16(path).c_str()));
  EXPECT_EQ(Code(os_->Read(path, 0, 512)), ERROR_FILE_NOT_FOUND);
}

TEST_F(OsTest, ReachDoesNotNormalisePaths) {
  EXPECT_EQ(Code(os_->Reach("C:\\windows")), 0);
  EXPECT_EQ(Code(os_->Reach("C:\\absent")), ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(Code(os_->Reach("C:\\absent\\a")), ERROR_PATH_NOT_FOUND);
  EXPECT_NE(Code(os_->Reach("C:\\windows\\..\\windows")), 0);
  EXPECT_NE(Code(os_->Reach("C:/windows")), 0);
  EXPECT_EQ(Code(os_->Reach("C:\\windows\0a"s)), ERROR_INVALID_NAME);
  EXPECT_GT(Code(os_->Reach(R"(\\csi-proxy.invalid\share\a)")), 0);
}

TEST_F(OsTest, ControlReturnsTheDevicesAnswer) {
  const std::string device = "\\\\.\\MountPointManager";
  // A zero MOUNTMGR_MOUNT_POINT selects all mount points
  // (learn.microsoft.com/windows-hardware/drivers/ddi/mountmgr/ni-mountmgr-ioctl_mountmgr_query_points).
  constexpr uint32_t kQueryPoints = 0x6D0008;
  const Bytes all(24);
  const auto points = os_->Control(device, DeviceAccess::kNone, kQueryPoints, all, 64 * 1024);
  ASSERT_TRUE(points.ok()) << points.status();
  // The answer begins with its length.
  ASSERT_GE(points->size(), 4u);
  EXPECT_EQ(points->size(), (*points)[0] | (*points)[1] << 8 | (*points)[2] << 16);

  EXPECT_EQ(Code(os_->Control(device, DeviceAccess::kNone, kQueryPoints, all, points->size() - 1)),
            ERROR_MORE_DATA);
  EXPECT_EQ(Code(os_->Control(device, DeviceAccess::kNone, kQueryPoints, {}, 64 * 1024)),
            ERROR_INVALID_PARAMETER);
  EXPECT_NE(Code(os_->Control(device, DeviceAccess::kNone, 0, {}, 0)), 0);
}

TEST_F(OsTest, ControlOpensDevicesWithTheGivenAccess) {
  for (const DeviceAccess access : {DeviceAccess::kNone, DeviceAccess::kRead}) {
    EXPECT_EQ(Code(os_->Control("\\\\.\\C:", access, IOCTL_STORAGE_GET_DEVICE_NUMBER, {},
                                sizeof(STORAGE_DEVICE_NUMBER))),
              0);
  }
  for (const DeviceAccess access :
       {DeviceAccess::kNone, DeviceAccess::kRead, DeviceAccess::kReadWrite}) {
    EXPECT_EQ(Code(os_->Control("\\\\.\\PhysicalDrive77", access, IOCTL_STORAGE_GET_DEVICE_NUMBER,
                                {}, sizeof(STORAGE_DEVICE_NUMBER))),
              ERROR_FILE_NOT_FOUND);
  }
  EXPECT_EQ(Code(os_->Control("\\\\.\\C:\0a"s, DeviceAccess::kNone, 0, {}, 0)), ERROR_INVALID_NAME);
}

TEST_F(OsTest, GetServiceReturnsStateAndStartType) {
  const auto running = os_->GetService(kRunningService);
  ASSERT_TRUE(running.ok()) << running.status();
  EXPECT_THAT(running->display_name, HasSubstr("Plug and Play"));
  EXPECT_EQ(running->state, ServiceState::kRunning);
  EXPECT_EQ(os_->GetService("pLUGpLAY")->display_name, running->display_name);
  EXPECT_EQ(running->start_type,
            IsWine() ? ServiceStartType::kAutomatic : ServiceStartType::kManual);
  // Wine lists no dependents, and on Windows the service has none.
  EXPECT_THAT(*os_->ListActiveDependents(kIdleService), IsEmpty());
}

TEST_F(OsTest, ServicesCanBeStartedAndStopped) {
  ASSERT_EQ(os_->GetService(kIdleService)->state, ServiceState::kStopped);
  EXPECT_EQ(os_->GetService(kIdleService)->start_type, ServiceStartType::kManual);
  EXPECT_EQ(Code(os_->StopService(kIdleService)), ERROR_SERVICE_NOT_ACTIVE);
  ASSERT_EQ(Code(os_->StartService(kIdleService)), 0);
  Await(kIdleService, ServiceState::kRunning);
  EXPECT_EQ(Code(os_->StartService(kIdleService)), ERROR_SERVICE_ALREADY_RUNNING);
  EXPECT_EQ(Code(os_->StopService(kIdleService)), 0);
  Await(kIdleService, ServiceState::kStopped);
}

TEST_F(OsTest, CallsForAMissingServiceFail) {
  for (const std::string& name : {"csi-proxy-absent"s, "Plug and Play Service"s}) {
    EXPECT_EQ(Code(os_->GetService(name)), ERROR_SERVICE_DOES_NOT_EXIST) << name;
    EXPECT_EQ(Code(os_->ListActiveDependents(name)), ERROR_SERVICE_DOES_NOT_EXIST) << name;
    EXPECT_EQ(Code(os_->StartService(name)), ERROR_SERVICE_DOES_NOT_EXIST) << name;
    EXPECT_EQ(Code(os_->StopService(name)), ERROR_SERVICE_DOES_NOT_EXIST) << name;
  }
  const std::string cut = kRunningService + "\0absent"s;
  EXPECT_EQ(Code(os_->GetService(cut)), ERROR_INVALID_NAME);
  EXPECT_EQ(Code(os_->ListActiveDependents(cut)), ERROR_INVALID_NAME);
  EXPECT_EQ(Code(os_->StartService(cut)), ERROR_INVALID_NAME);
  EXPECT_EQ(Code(os_->StopService(cut)), ERROR_INVALID_NAME);
}

// Wine 8 reports no device changes, so only the timeout ends the wait.
TEST_F(OsTest, AwaitDeviceChangeReturnsAfterItsTimeout) {
  const uint64_t seen = os_->DeviceChanges();
  os_->AwaitDeviceChange(seen, absl::Milliseconds(5));
  EXPECT_EQ(os_->DeviceChanges(), seen);
}

TEST(DeviceChangesTest, AnArrivingDeviceEndsTheWait) {
  DeviceChanges changes;
  const uint64_t seen = changes.Count();
  std::thread windows([&] { changes.Announce(); });
  changes.Await(seen, absl::Hours(1));
  windows.join();
  EXPECT_NE(changes.Count(), seen);
  // Returns without waiting, because the change has already been announced.
  changes.Await(seen, absl::Hours(1));
}

TEST_F(OsTest, GetSmbiosTableReturnsAWholeTable) {
  const auto table = os_->GetSmbiosTable();
  ASSERT_TRUE(table.ok()) << table.status();
  // RawSMBIOSData: four bytes, then the length of the rest
  // (learn.microsoft.com/windows/win32/api/sysinfoapi/nf-sysinfoapi-getsystemfirmwaretable).
  ASSERT_GT(table->size(), 8u);
  EXPECT_EQ(table->size() - 8, (*table)[4] | (*table)[5] << 8 | (*table)[6] << 16);
}

TEST_F(OsTest, GetNetworkNamesReturnsNamesAndAddresses) {
  const auto found = os_->GetNetworkNames();
  ASSERT_TRUE(found.ok()) << found.status();
  wchar_t name[MAX_COMPUTERNAME_LENGTH + 1];
  DWORD size = MAX_COMPUTERNAME_LENGTH + 1;
  ASSERT_TRUE(GetComputerNameW(name, &size));
  EXPECT_THAT(found->names, testing::Contains(win32::Utf8({name, size})));
  EXPECT_THAT(found->addresses, testing::Contains(Bytes{127, 0, 0, 1}));
}

TEST_F(OsTest, NoHandleLeaks) {
  const auto use = [&] {
    EXPECT_EQ(Code(os_->ListVolumes()), 0);
    EXPECT_EQ(Code(os_->GetVolumeOfDrive('C')), 0);
    (void)os_->Flush(*os_->GetVolumeOfDrive('C'));
    (void)os_->Control("\\\\.\\MountPointManager", DeviceAccess::kNone, 0, {}, 0);
    EXPECT_EQ(Code(os_->GetService(kRunningService)), 0);
    EXPECT_EQ(Code(os_->GetService("absent")), ERROR_SERVICE_DOES_NOT_EXIST);
    EXPECT_EQ(Code(os_->StopService(kIdleService)), ERROR_SERVICE_NOT_ACTIVE);
    NewOs();
  };
  use();
  const HandleWatch watch;
  for (int round = 0; round < 300; ++round) use();
  EXPECT_LT(watch.Growth(), 100);
}

}  // namespace
}  // namespace csi_proxy::machine
