// Tests that the double of Win32 refuses calls that the product does not make.
#include "server/machine/windows/os_files_windows.h"
// Included separately: the header above undefines names that these must not define again.
#include <string>

#include "integration/wine/double/testing_windows.h"

namespace csi_proxy::node_double {
namespace {

using Win32DoubleTest = NodeTest;

constexpr wchar_t kSystemDevice[] = LR"(\\?\Volume{00000000-c511-4c0d-9000-000000000001})";

TEST_F(Win32DoubleTest, FakeHandlesAndRealHandlesAreNotConfused) {
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

// The double refuses requests that it cannot serve as Windows would, so that no test passes by
// them.
TEST_F(Win32DoubleTest, UnsupportedOpenRequestsAreRefused) {
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

}  // namespace
}  // namespace csi_proxy::node_double
