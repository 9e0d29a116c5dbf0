// Named mutexes that others have got at.
#include <gtest/gtest.h>
#include <windows.h>
// After windows.h.
#include <sddl.h>

#include "absl/strings/str_cat.h"
#include "server/base/process_locks.h"
#include "server/base/win32.h"

namespace csi_proxy {
namespace {

// A mutex of that name as whoever `owner` says, in SDDL, would have made it.
win32::UniqueHandle MakeMutex(absl::string_view name, const wchar_t* owner) {
  PSECURITY_DESCRIPTOR descriptor = nullptr;
  EXPECT_TRUE(ConvertStringSecurityDescriptorToSecurityDescriptorW(
      (std::wstring(L"O:") + owner + L"D:(A;;GA;;;WD)").c_str(), SDDL_REVISION_1, &descriptor,
      nullptr));
  const win32::UniqueLocal owned(descriptor);
  SECURITY_ATTRIBUTES attributes = {sizeof(attributes), descriptor, FALSE};
  win32::UniqueHandle mutex(CreateMutexW(
      &attributes, FALSE, win32::Utf16(absl::StrCat("Global\\", ProcessLockName(name))).c_str()));
  EXPECT_TRUE(mutex.valid()) << GetLastError();
  return mutex;
}

TEST(NamedMutexesTest, OneThatIsNotAnAdministratorsIsRefused) {
  const auto locks = NewProcessLocks("");
  ASSERT_TRUE(locks.ok()) << locks.status();
  const std::string name = absl::StrCat("disk/squatted-", GetCurrentProcessId());
  const win32::UniqueHandle squatter = MakeMutex(name, L"LS");
  const absl::Status refused = (*locks)->Acquire(CallContext(), name).status();
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
}

TEST(NamedMutexesTest, OneThatIsAnAdministratorsIsTaken) {
  const auto locks = NewProcessLocks("");
  ASSERT_TRUE(locks.ok()) << locks.status();
  const std::string name = absl::StrCat("disk/shared-", GetCurrentProcessId());
  const win32::UniqueHandle other = MakeMutex(name, L"BA");
  const auto held = (*locks)->Acquire(CallContext(), name);
  EXPECT_TRUE(held.ok()) << held.status();
}

}  // namespace
}  // namespace csi_proxy
