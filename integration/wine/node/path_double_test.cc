// Tests the double of Win32's calls by path, which the Go release uses.
#include "integration/wine/node/win32_testing_windows.h"
#include "server/machine/reparse_point.h"

namespace csi_proxy::node_double {
namespace {

using PathDoubleTest = Win32DoubleTest;

TEST_F(PathDoubleTest, PathsLeadWhereTheNodeHasThem) {
  const std::wstring directory = LR"(C:\var\lib\kubelet\plugins\kubernetes.io\csi\volumeDevices)";
  constexpr DWORD kMountPoint = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT;
  EXPECT_EQ(GetFileAttributesW(directory.c_str()), DWORD{FILE_ATTRIBUTE_DIRECTORY});
  wchar_t name[MAX_PATH];
  EXPECT_FALSE(GetVolumeNameForVolumeMountPointW((directory + L"\\").c_str(), name, MAX_PATH));
  EXPECT_EQ(GetLastError(), DWORD{ERROR_NOT_A_REPARSE_POINT});
  ASSERT_TRUE(
      SetVolumeMountPointW((directory + L"\\").c_str(), win32::Utf16(kSystemVolume).c_str()));
  EXPECT_EQ(GetFileAttributesW(directory.c_str()), kMountPoint);
  WIN32_FILE_ATTRIBUTE_DATA data;
  EXPECT_TRUE(GetFileAttributesExW(directory.c_str(), GetFileExInfoStandard, &data));
  EXPECT_EQ(data.dwFileAttributes, kMountPoint);
  WIN32_FIND_DATAW found;
  const HANDLE search = FindFirstFileW(directory.c_str(), &found);
  ASSERT_NE(search, INVALID_HANDLE_VALUE);
  EXPECT_EQ(found.dwReserved0, machine::kReparseTagMountPoint);
  EXPECT_EQ(std::wstring(found.cFileName), L"volumeDevices");
  EXPECT_FALSE(FindNextFileW(search, &found));
  EXPECT_EQ(GetLastError(), DWORD{ERROR_NO_MORE_FILES});
  EXPECT_TRUE(FindClose(search));
  // Paths below the mount point are on the volume.
  ASSERT_TRUE(GetVolumePathNameW((directory + LR"(\Windows)").c_str(), name, MAX_PATH));
  EXPECT_EQ(std::wstring(name), directory + L"\\");
  ASSERT_TRUE(
      GetVolumeNameForVolumeMountPointW((LR"(\\?\)" + directory + L"\\").c_str(), name, MAX_PATH));
  EXPECT_EQ(win32::Utf8(name), kSystemVolume);
  ASSERT_TRUE(GetVolumePathNameW(LR"(C:\var\lib)", name, MAX_PATH));
  EXPECT_EQ(std::wstring(name), LR"(C:\)");
  // Symbolic links of directories are created on the node.
  const std::wstring link = LR"(\\?\C:\var\lib\kubelet\plugins\share)";
  ASSERT_TRUE(CreateSymbolicLinkW(link.c_str(), LR"(\\fileserver.example\data\)",
                                  SYMBOLIC_LINK_FLAG_DIRECTORY));
  EXPECT_FALSE(CreateSymbolicLinkW(link.c_str(), LR"(\\fileserver.example\data\)",
                                   SYMBOLIC_LINK_FLAG_DIRECTORY));
  EXPECT_EQ(GetLastError(), DWORD{ERROR_ALREADY_EXISTS});
  EXPECT_EQ(GetFileAttributesW(link.c_str()), kMountPoint);
  // For files that the node does not have, Wine answers.
  EXPECT_NE(GetFileAttributesW(LR"(C:\windows\system32\ntdll.dll)"), INVALID_FILE_ATTRIBUTES);
}

// Makes the calls of Go's os package: MkdirAll, Symlink, Lstat, Stat, Remove.
TEST_F(PathDoubleTest, DirectoriesComeAndGoByPath) {
  const std::wstring parent = LR"(C:\var\lib\kubelet\plugins\by-path)";
  const std::wstring link = LR"(C:\var\lib\kubelet\plugins\link)";
  ASSERT_TRUE(CreateDirectoryW(parent.c_str(), nullptr));
  EXPECT_FALSE(CreateDirectoryW(parent.c_str(), nullptr));
  EXPECT_EQ(GetLastError(), DWORD{ERROR_ALREADY_EXISTS});
  ASSERT_TRUE(CreateDirectoryW((parent + LR"(\child)").c_str(), nullptr));
  EXPECT_NE(Open(R"(C:\)", {"var", "lib", "kubelet", "plugins", "by-path", "child"}), nullptr);
  EXPECT_FALSE(DeleteFileW(parent.c_str()));
  EXPECT_EQ(GetLastError(), DWORD{ERROR_ACCESS_DENIED});
  EXPECT_FALSE(RemoveDirectoryW(parent.c_str()));
  EXPECT_EQ(GetLastError(), DWORD{ERROR_DIR_NOT_EMPTY});

  ASSERT_TRUE(CreateSymbolicLinkW(link.c_str(), parent.c_str(), SYMBOLIC_LINK_FLAG_DIRECTORY));
  // Opens the link itself, then its target.
  for (const DWORD itself : {DWORD{FILE_FLAG_OPEN_REPARSE_POINT}, DWORD{0}}) {
    const HANDLE opened = CreateFileW(link.c_str(), 0, 0, nullptr, OPEN_EXISTING,
                                      FILE_FLAG_BACKUP_SEMANTICS | itself, nullptr);
    ASSERT_NE(opened, INVALID_HANDLE_VALUE);
    EXPECT_EQ(GetFileType(opened), DWORD{FILE_TYPE_DISK});
    BY_HANDLE_FILE_INFORMATION information;
    EXPECT_TRUE(GetFileInformationByHandle(opened, &information));
    EXPECT_EQ(information.dwFileAttributes,
              FILE_ATTRIBUTE_DIRECTORY | (itself != 0 ? FILE_ATTRIBUTE_REPARSE_POINT : 0u));
    EXPECT_TRUE(CloseHandle(opened));
  }
  // The volume of a path through a link is that of the link's target.
  wchar_t name[MAX_PATH];
  ASSERT_TRUE(
      SetVolumeMountPointW((parent + LR"(\child\)").c_str(), win32::Utf16(kSystemVolume).c_str()));
  EXPECT_FALSE(RemoveDirectoryW((parent + LR"(\child)").c_str()));
  EXPECT_EQ(GetLastError(), DWORD{ERROR_NOT_SUPPORTED});
  ASSERT_TRUE(GetVolumePathNameW((link + LR"(\child)").c_str(), name, MAX_PATH));
  EXPECT_EQ(std::wstring(name), link + LR"(\child\)");
  const std::wstring direct = LR"(C:\var\lib\kubelet\plugins\direct)";
  ASSERT_TRUE(CreateSymbolicLinkW(direct.c_str(), (parent + LR"(\child)").c_str(),
                                  SYMBOLIC_LINK_FLAG_DIRECTORY));
  ASSERT_TRUE(GetVolumePathNameW(direct.c_str(), name, MAX_PATH));
  EXPECT_EQ(std::wstring(name), parent + LR"(\child\)");

  // Removing a link keeps its target.
  EXPECT_TRUE(RemoveDirectoryW(link.c_str()));
  EXPECT_NE(GetFileAttributesW(parent.c_str()), INVALID_FILE_ATTRIBUTES);
  ASSERT_TRUE(DeleteVolumeMountPointW((parent + LR"(\child\)").c_str()));
  EXPECT_TRUE(RemoveDirectoryW((parent + LR"(\child)").c_str()));
  EXPECT_TRUE(RemoveDirectoryW(parent.c_str()));
  EXPECT_FALSE(RemoveDirectoryW(parent.c_str()));
  EXPECT_EQ(GetLastError(), DWORD{ERROR_FILE_NOT_FOUND});
}

}  // namespace
}  // namespace csi_proxy::node_double
