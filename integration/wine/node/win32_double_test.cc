// Tests the double of Win32 by the calls that the product makes, and that the double refuses
// others.
#include "integration/wine/node/win32_testing_windows.h"
// Included separately: the header above undefines names that these must not define again.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/win32_error.h"
#include "server/machine/layouts.h"
#include "server/machine/os.h"
#include "server/machine/reparse_point.h"

namespace csi_proxy::node_double {
namespace {

using machine::Access;
using machine::Bytes;
using machine::DeviceAccess;
using machine::File;
using testing::Contains;
using testing::ElementsAre;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr wchar_t kSystemDevice[] = LR"(\\?\Volume{00000000-c511-4c0d-9000-000000000001})";

TEST_F(Win32DoubleTest, VolumesAreTheNodes) {
  EXPECT_THAT(*os_->ListVolumes(), ElementsAre(kSystemVolume));
  EXPECT_EQ(*os_->GetVolumeOfDrive('c'), kSystemVolume);
  EXPECT_EQ(ErrorOf(os_->GetVolumeOfDrive('Q').status()), ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(os_->GetFileSystem(kSystemVolume)->name, "NTFS");
  const auto space = os_->GetSpace(kSystemVolume);
  ASSERT_TRUE(space.ok()) << space.status();
  EXPECT_EQ(space->total_bytes, 68000000000u);
  EXPECT_LT(space->free_bytes, space->total_bytes);
  EXPECT_TRUE(os_->Flush(kSystemVolume).ok());
  constexpr char kNone[] = R"(\\?\Volume{00000000-0000-0000-0000-00000000dead}\)";
  EXPECT_EQ(ErrorOf(os_->GetFileSystem(kNone).status()), ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(ErrorOf(os_->Flush(kNone)), ERROR_FILE_NOT_FOUND);
  Inject("win32.Flush", ERROR_IO_DEVICE);
  EXPECT_EQ(ErrorOf(os_->Flush(kSystemVolume)), ERROR_IO_DEVICE) << "faults strike";
}

TEST_F(Win32DoubleTest, DevicesAnswerControlCodes) {
  namespace control = machine::control;
  const auto length =
      os_->Control(R"(\\.\PhysicalDrive1)", DeviceAccess::kRead, control::kGetLength, {}, 64);
  ASSERT_TRUE(length.ok()) << length.status();
  EXPECT_EQ(*machine::ParseLength(*length), 10737418240u);
  // The device path that WMI reports.
  const std::string path = Text(First("SELECT * FROM MSFT_Disk WHERE Number = 3"), L"Path");
  const auto ids = os_->Control(path, DeviceAccess::kNone, control::kQueryProperty,
                                machine::DeviceIdQuery(), machine::kMaxDeviceIds);
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(machine::ParseDeviceIds(*ids)->page83, "Google  pvc-1f2e3d4c");
  const auto send = [&](const char* device, DeviceAccess access, uint32_t code, size_t room) {
    return ErrorOf(os_->Control(device, access, code, {}, room).status());
  };
  EXPECT_EQ(send(R"(\\.\PhysicalDrive9)", DeviceAccess::kNone, control::kGetDeviceNumber, 64),
            ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(send(R"(\\.\PhysicalDrive1)", DeviceAccess::kNone, control::kGetLength, 64),
            ERROR_ACCESS_DENIED);
  EXPECT_EQ(send(R"(\\.\PhysicalDrive1)", DeviceAccess::kRead, control::kGetLength, 2),
            ERROR_MORE_DATA);
  EXPECT_EQ(send(kSystemVolume, DeviceAccess::kNone, control::kGetDeviceNumber, 64),
            ERROR_ACCESS_DENIED)
      << "with the backslash it is a directory";
}

TEST_F(Win32DoubleTest, FilesAreThoseOfTheSimulatedTree) {
  const auto root = Open("C:\\", {});
  EXPECT_THAT(*root->List(), UnorderedElementsAre("Windows", "Users", "k", "var"));
  const auto kubelet = Open("C:\\", {"var", "LIB", "kubelet"});
  EXPECT_TRUE(kubelet->GetAttributes()->is_directory);
  EXPECT_EQ(ErrorOf(kubelet->Open("none", Access::kRead).status()), ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(ErrorOf(kubelet->CreateDirectory("plugins").status()), ERROR_ALREADY_EXISTS);
  EXPECT_EQ(ErrorOf(Open("C:\\", {"k", "config"})->List().status()), ERROR_INVALID_PARAMETER);
  EXPECT_EQ(ErrorOf(os_->OpenRoot("Q:\\").status()), ERROR_PATH_NOT_FOUND);

  // Turns a directory into a link, then deletes it.
  {
    const auto made = kubelet->CreateDirectory("link");
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(ErrorOf((*made)->ReadReparsePoint().status()), ERROR_NOT_A_REPARSE_POINT);
    const auto target = machine::MakeSymlink(*WindowsPath::Parse("target", R"(C:\k)"));
    ASSERT_TRUE((*made)->WriteReparsePoint(*target).ok());
    EXPECT_TRUE((*made)->GetAttributes()->is_reparse_point);
    EXPECT_EQ((*made)->GetAttributes()->reparse_tag, machine::kReparseTagSymlink);
    EXPECT_EQ(*(*made)->ReadReparsePoint(), *target);
    EXPECT_EQ(ErrorOf((*made)->Delete()), ERROR_ACCESS_DENIED) << "not opened for it";
    EXPECT_EQ(ErrorOf(kubelet->Open("link", Access::kDelete).status()), ERROR_SHARING_VIOLATION);
  }
  EXPECT_THAT(*kubelet->List(), Contains("link"));
  ASSERT_TRUE((*kubelet->Open("link", Access::kDelete))->Delete().ok());
  EXPECT_THAT(*kubelet->List(), UnorderedElementsAre("plugins", "pods", "plugins_registry"));
  EXPECT_EQ(ErrorOf((*kubelet->Open("pods", Access::kDelete))->Delete()), ERROR_DIR_NOT_EMPTY);
}

TEST_F(Win32DoubleTest, EveryErrorOfAnOpenArrives) {
  for (const uint32_t error :
       {ERROR_FILE_NOT_FOUND, ERROR_PATH_NOT_FOUND, ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION,
        ERROR_ALREADY_EXISTS, ERROR_INVALID_NAME, ERROR_NOT_READY, ERROR_UNRECOGNIZED_VOLUME,
        ERROR_DISK_FULL, ERROR_WRITE_PROTECT, ERROR_DIRECTORY, ERROR_IO_DEVICE,
        ERROR_BAD_PATHNAME}) {
    Inject("win32.Open", error);
    EXPECT_EQ(ErrorOf(os_->OpenRoot("C:\\").status()), error);
  }
}

TEST_F(Win32DoubleTest, ALongDirectoryIsListedWhole) {
  const auto registry = Open("C:\\", {"var", "lib", "kubelet", "plugins_registry"});
  std::vector<std::string> names;
  for (int i = 0; i < 700; ++i) {
    names.push_back(absl::StrCat(i, std::string(100, 'x')));
    ASSERT_TRUE(registry->CreateDirectory(names.back()).ok());
  }
  EXPECT_THAT(*registry->List(), testing::UnorderedElementsAreArray(names));
  EXPECT_THAT(*registry->List(), SizeIs(700)) << "and once more";
}

TEST_F(Win32DoubleTest, AListingTellsWhatEachIs) {
  const auto registry = Open("C:\\", {"var", "lib", "kubelet", "plugins_registry"});
  ASSERT_TRUE(registry->CreateDirectory("directory").ok());
  {
    const auto made = registry->CreateDirectory("link");
    const auto target = machine::MakeSymlink(*WindowsPath::Parse("target", R"(C:\k)"));
    ASSERT_TRUE((*made)->WriteReparsePoint(*target).ok());
  }
  const auto entries = registry->ListNext(true);
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_THAT(*entries, SizeIs(2));
  for (const machine::DirectoryEntry& entry : *entries) {
    EXPECT_TRUE(entry.is_directory) << entry.name;
    EXPECT_EQ(entry.is_reparse_point, entry.name == "link") << entry.name;
  }
  EXPECT_THAT(*registry->ListNext(false), SizeIs(0));
  const auto files = Open("C:\\", {"k"})->ListNext(true);
  ASSERT_TRUE(files.ok()) << files.status();
  for (const machine::DirectoryEntry& entry : *files) {
    EXPECT_EQ(entry.is_directory, entry.name != "config") << entry.name;
  }
  // A handle opened with kPeek does not prevent the deletion.
  const auto peeking = registry->Open("directory", Access::kPeek);
  ASSERT_TRUE(peeking.ok()) << peeking.status();
  const auto deleting = registry->Open("directory", Access::kDelete);
  ASSERT_TRUE(deleting.ok()) << deleting.status();
  EXPECT_TRUE((*deleting)->Delete().ok());
}

TEST_F(Win32DoubleTest, ReadsWhatLiesOnADisk) {
  const auto table = os_->Read(R"(\\.\PhysicalDrive0)", 512, 1024);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(std::string(table->begin(), table->begin() + 8), "EFI PART");
  EXPECT_EQ(*os_->Read(R"(\\.\PhysicalDrive1)", 0, 512), machine::Bytes(512));
  EXPECT_EQ(ErrorOf(os_->Read(R"(\\.\PhysicalDrive1)", 0, 100).status()), ERROR_INVALID_PARAMETER);
  EXPECT_EQ(ErrorOf(os_->Read(R"(\\.\PhysicalDrive99)", 0, 512).status()), ERROR_FILE_NOT_FOUND);
}

TEST_F(Win32DoubleTest, MountPointsAreMadeFollowedAndRemoved) {
  constexpr char kPath[] = R"(C:\var\lib\kubelet\plugins_registry\)";
  ASSERT_TRUE(os_->SetMountPoint(kPath, kSystemVolume).ok());
  const auto points = os_->ListMountPoints(kSystemVolume);
  ASSERT_TRUE(points.ok()) << points.status();
  EXPECT_EQ(*points, (std::vector<std::string>{"C:\\", kPath}));
  EXPECT_EQ(ErrorOf(os_->SetMountPoint(kPath, kSystemVolume)), ERROR_DIR_NOT_EMPTY);
  auto mounted = Open("C:\\", {"var", "lib", "kubelet", "plugins_registry"});
  EXPECT_EQ(mounted->GetAttributes()->reparse_tag, machine::kReparseTagMountPoint);
  // A path through the mount point, as Windows resolves it.
  EXPECT_EQ(ErrorOf(os_->SetMountPoint(absl::StrCat(kPath, R"(Users\)"), kSystemVolume)),
            ERROR_DIR_NOT_EMPTY);
  EXPECT_EQ(ErrorOf(os_->DeleteMountPoint(kPath)), ERROR_SHARING_VIOLATION) << "it is held";
  mounted.reset();
  ASSERT_TRUE(os_->DeleteMountPoint(kPath).ok());
  mounted = Open("C:\\", {"var", "lib", "kubelet", "plugins_registry"});
  EXPECT_FALSE(mounted->GetAttributes()->is_reparse_point);
  EXPECT_EQ(SetVolumeMountPointW(LR"(C:\var\lib\kubelet\plugins_registry)",
                                 LR"(\\?\Volume{00000000-c511-4c0d-9000-000000000001}\)"),
            FALSE);
  EXPECT_EQ(GetLastError(), DWORD{ERROR_INVALID_NAME}) << "no backslash at the end";
}

TEST_F(Win32DoubleTest, ServersAreReached) {
  EXPECT_EQ(ErrorOf(os_->Reach(R"(\\nowhere.example\data)")), ERROR_BAD_NETPATH);
  EXPECT_EQ(ErrorOf(os_->Reach(R"(\\fileserver.example\data)")), ERROR_LOGON_FAILURE)
      << "there is no mapping yet";
  EXPECT_EQ(ErrorOf(os_->GetSpace(R"(\\nowhere.example\data\)").status()), ERROR_BAD_NETPATH);
  EXPECT_EQ(ErrorOf(os_->GetSpace(R"(\\fileserver.example\data\)").status()), ERROR_LOGON_FAILURE);
}

TEST_F(Win32DoubleTest, ServicesAreTheNodes) {
  const auto workstation = os_->GetService("lanmanworkstation");
  ASSERT_TRUE(workstation.ok()) << workstation.status();
  EXPECT_EQ(workstation->display_name, "Workstation");
  EXPECT_EQ(workstation->state, machine::ServiceState::kRunning);
  EXPECT_EQ(workstation->start_type, machine::ServiceStartType::kAutomatic);
  EXPECT_THAT(*os_->ListActiveDependents("LanmanWorkstation"), ElementsAre("SessionEnv"));
  EXPECT_THAT(*os_->ListActiveDependents("MSiSCSI"), SizeIs(0));
  EXPECT_EQ(ErrorOf(os_->StopService("LanmanWorkstation")), ERROR_DEPENDENT_SERVICES_RUNNING);
  EXPECT_TRUE(os_->StopService("SessionEnv").ok());
  EXPECT_EQ(os_->GetService("SessionEnv")->state, machine::ServiceState::kStopPending);
  EXPECT_EQ(ErrorOf(os_->StartService("MSiSCSI")), ERROR_SERVICE_ALREADY_RUNNING);
  EXPECT_TRUE(os_->StopService("MSiSCSI").ok());
  EXPECT_EQ(os_->GetService("MSiSCSI")->state, machine::ServiceState::kStopPending);
  EXPECT_EQ(ErrorOf(os_->GetService("PlugPlay").status()), ERROR_SERVICE_DOES_NOT_EXIST)
      << "which Wine has";
  // A handle allows only the rights it was opened with.
  const win32::UniqueServiceHandle manager(OpenSCManagerW(nullptr, nullptr, SC_MANAGER_CONNECT));
  const win32::UniqueServiceHandle service(
      OpenServiceW(manager.get(), L"RpcSs", SERVICE_QUERY_STATUS));
  ASSERT_TRUE(service.valid());
  EXPECT_FALSE(StartServiceW(service.get(), 0, nullptr));
  EXPECT_EQ(GetLastError(), DWORD{ERROR_ACCESS_DENIED});
  EXPECT_FALSE(StartServiceW(manager.get(), 0, nullptr));
  EXPECT_EQ(GetLastError(), DWORD{ERROR_INVALID_HANDLE});
}

TEST_F(Win32DoubleTest, TheFirmwareIsTheNodes) {
  EXPECT_EQ(*machine::ParseSystemSerialNumber(*os_->GetSmbiosTable()),
            "VMware-42 1a 7c 2e 90 4d 11 5f-b3 8e 6a 00 27 9c d4 51");
}

TEST_F(Win32DoubleTest, HandlesAreNotConfused) {
  const auto open = [](const wchar_t* path, DWORD access) {
    return CreateFileW(path, access, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr, OPEN_EXISTING, 0,
                       nullptr);
  };
  const HANDLE device = open(kSystemDevice, 0);
  ASSERT_NE(device, INVALID_HANDLE_VALUE);
  // The kernel does not know a fake handle.
  LARGE_INTEGER size{};
  EXPECT_FALSE(GetFileSizeEx(device, &size));
  EXPECT_EQ(GetLastError(), DWORD{ERROR_INVALID_HANDLE});
  char sector[512];
  DWORD count = 0;
  OVERLAPPED at{};
  EXPECT_FALSE(ReadFile(device, sector, sizeof(sector), &count, &at));
  EXPECT_EQ(GetLastError(), DWORD{ERROR_ACCESS_DENIED}) << "not opened for reading";
  EXPECT_FALSE(FlushFileBuffers(device));
  EXPECT_EQ(GetLastError(), DWORD{ERROR_ACCESS_DENIED}) << "not opened for writing";
  EXPECT_FALSE(FindVolumeClose(device));
  EXPECT_FALSE(CloseServiceHandle(static_cast<SC_HANDLE>(device)));
  FILE_BASIC_INFO info{};
  EXPECT_FALSE(GetFileInformationByHandleEx(device, FileBasicInfo, &info, sizeof(info)));
  EXPECT_TRUE(CloseHandle(device));
  EXPECT_FALSE(CloseHandle(device)) << "once";
  EXPECT_EQ(GetLastError(), DWORD{ERROR_INVALID_HANDLE});
  EXPECT_NE(open(kSystemDevice, 0), device) << "not given again";
}

TEST_F(Win32DoubleTest, RealFilesStayReal) {
  wchar_t directory[MAX_PATH];
  wchar_t name[MAX_PATH];
  ASSERT_NE(GetTempPathW(MAX_PATH, directory), 0u);
  ASSERT_NE(GetTempFileNameW(directory, L"csi", 0, name), 0u);
  win32::UniqueHandle file(CreateFileW(name, GENERIC_READ | GENERIC_WRITE | DELETE, 0, nullptr,
                                       OPEN_EXISTING, 0, nullptr));
  ASSERT_TRUE(file.valid()) << win32::LastError("CreateFile");
  DWORD count = 0;
  EXPECT_TRUE(WriteFile(file.get(), "real", 4, &count, nullptr));
  EXPECT_TRUE(FlushFileBuffers(file.get()));
  FILE_STANDARD_INFO standard{};
  EXPECT_TRUE(
      GetFileInformationByHandleEx(file.get(), FileStandardInfo, &standard, sizeof(standard)));
  EXPECT_EQ(standard.EndOfFile.QuadPart, 4);
  EXPECT_NE(GetFileAttributesW(name), INVALID_FILE_ATTRIBUTES);
  FILE_DISPOSITION_INFO gone{.DeleteFile = TRUE};
  EXPECT_TRUE(SetFileInformationByHandle(file.get(), FileDispositionInfo, &gone, sizeof(gone)));
  file.Reset();
  EXPECT_EQ(GetFileAttributesW(name), INVALID_FILE_ATTRIBUTES);
}

// The double refuses requests that it cannot serve as Windows would, so that no test passes because
// of them.
TEST_F(Win32DoubleTest, OpensInAnotherWayAreRefused) {
  const auto create = [](HANDLE parent, std::wstring name, ULONG attributes, ACCESS_MASK access,
                         ULONG share, ULONG options, win32::UniqueHandle* opened) {
    UNICODE_STRING text{.Length = static_cast<USHORT>(name.size() * sizeof(wchar_t)),
                        .MaximumLength = static_cast<USHORT>(name.size() * sizeof(wchar_t)),
                        .Buffer = name.data()};
    OBJECT_ATTRIBUTES object;
    InitializeObjectAttributes(&object, &text, attributes, parent, nullptr);
    IO_STATUS_BLOCK io{};
    HANDLE handle = nullptr;
    const NTSTATUS status = NtCreateFile(&handle, access, &object, &io, nullptr, 0, share,
                                         FILE_OPEN, options, nullptr, 0);
    if (NT_SUCCESS(status)) opened->Reset(handle);
    return static_cast<uint32_t>(status);
  };
  const auto open = [&](ACCESS_MASK access, ULONG share, ULONG options) {
    win32::UniqueHandle handle;
    return create(nullptr, LR"(\??\C:\)", OBJ_CASE_INSENSITIVE, access, share, options, &handle);
  };
  constexpr uint32_t kStatusInvalidParameter = 0xC000000D;
  constexpr ACCESS_MASK kLook = machine::kLook;
  constexpr ULONG kShare = machine::kShare;
  constexpr ULONG kOptions = machine::kOptions;
  EXPECT_EQ(open(kLook, kShare, kOptions), 0u);
  EXPECT_EQ(open(kLook, kShare | FILE_SHARE_DELETE, kOptions), kStatusInvalidParameter);
  EXPECT_EQ(open(kLook, kShare, kOptions & ~FILE_OPEN_REPARSE_POINT), kStatusInvalidParameter);
  EXPECT_EQ(open(kLook & ~SYNCHRONIZE, kShare, kOptions), kStatusInvalidParameter);
  EXPECT_EQ(open(kLook | DELETE, kShare, kOptions), kStatusInvalidParameter) << "a root";
  EXPECT_EQ(open(kLook | FILE_WRITE_DATA, kShare, kOptions), kStatusInvalidParameter);

  win32::UniqueHandle root;
  ASSERT_EQ(create(nullptr, LR"(\??\C:\)", OBJ_CASE_INSENSITIVE, kLook, kShare, kOptions, &root),
            0u);
  const auto open_below = [&](ULONG attributes) {
    win32::UniqueHandle handle;
    return create(root.get(), LR"(Windows\System32)", OBJ_CASE_INSENSITIVE | attributes, kLook,
                  kShare, kOptions, &handle);
  };
  EXPECT_EQ(open_below(OBJ_DONT_REPARSE), 0u);
  EXPECT_EQ(open_below(0), kStatusInvalidParameter) << "it would follow links";
}

TEST_F(Win32DoubleTest, WhoLooksACallUpGetsTheDoubles) {
  const HMODULE kernel = GetModuleHandleW(L"kernel32.dll");
  const auto next = reinterpret_cast<decltype(&::FindFirstVolumeW)>(
      reinterpret_cast<void*>(GetProcAddress(kernel, "FindFirstVolumeW")));
  wchar_t name[MAX_PATH];
  const HANDLE search = next(name, MAX_PATH);
  ASSERT_NE(search, INVALID_HANDLE_VALUE);
  EXPECT_EQ(win32::Utf8(name), kSystemVolume);
  EXPECT_TRUE(FindVolumeClose(search));
  EXPECT_EQ(GetProcAddress(kernel, "NoSuchFunction"), nullptr);
}

}  // namespace
}  // namespace csi_proxy::node_double
