// Tests named mutexes, also mutexes that another account has created first.
#include <gtest/gtest.h>
#include <windows.h>
// After windows.h.
#include <sddl.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/fallbacks.h"
#include "server/locks/private_namespace.h"
#include "server/locks/process_locks.h"
#include "server/platform/win32.h"

namespace csi_proxy {
namespace {

// Creates the mutex of the lock `name` in `Global\`, with the owner `owner` of SDDL.
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

TEST(NamedMutexesTest, WithoutANamespaceAMutexOfANonAdministratorIsRefused) {
  const auto locks = NewNamedMutexes("");
  ASSERT_TRUE(locks.ok()) << locks.status();
  const std::string name = absl::StrCat("disk/squatted-", GetCurrentProcessId());
  const win32::UniqueHandle squatter = MakeMutex(name, L"LS");
  const absl::Status refused = (*locks)->Acquire(CallContext(), name).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
}

TEST(NamedMutexesTest, WithoutANamespaceAMutexOfAnAdministratorIsAccepted) {
  const auto locks = NewNamedMutexes("");
  ASSERT_TRUE(locks.ok()) << locks.status();
  const std::string name = absl::StrCat("disk/shared-", GetCurrentProcessId());
  const win32::UniqueHandle other = MakeMutex(name, L"BA");
  const auto held = (*locks)->Acquire(CallContext(), name);
  EXPECT_TRUE(held.ok()) << held.status();
}

// Returns locks whose private names the squatter does not know. They stand for the private
// namespace, which Wine lacks.
std::unique_ptr<ProcessLocks> WithPrivateNames() {
  auto locks = NewNamedMutexes(absl::StrCat("Local\\csi-proxy-test-", GetCurrentProcessId(), "-"));
  EXPECT_TRUE(locks.ok()) << locks.status();
  return *std::move(locks);
}

absl::Status AcquireElsewhere(ProcessLocks& locks, const std::string& name) {
  absl::Status status;
  std::thread([&] {
    status = locks.Acquire(CallContext().WithTimeout(absl::Milliseconds(100)), name).status();
  }).join();
  return status;
}

TEST(NamedMutexesTest, ASquatterOfTheGlobalNameDoesNotBlockTheLock) {
  const std::string name = absl::StrCat("disk/kept-", GetCurrentProcessId());
  const win32::UniqueHandle squatter = MakeMutex(name, L"LS");
  ASSERT_EQ(WaitForSingleObject(squatter.get(), 0), WAIT_OBJECT_0);
  const auto one = WithPrivateNames(), two = WithPrivateNames();
  auto held = one->Acquire(CallContext(), name);
  ASSERT_TRUE(held.ok()) << held.status();
  // The lock still excludes the other process.
  EXPECT_TRUE(absl::IsDeadlineExceeded(AcquireElsewhere(*two, name)));
  held->reset();
  EXPECT_TRUE(AcquireElsewhere(*two, name).ok());
  ReleaseMutex(squatter.get());
}

TEST(NewProcessLocksTest, AMissingNamespaceCountsAsAFallback) {
  // Wine 8 has no private namespace.
  const bool has_namespace = EnterAdministratorsNamespace().ok();
  const uint64_t before = FallbackCount(Fallback::kNoPrivateNamespace);
  const auto locks = NewProcessLocks("", nullptr);
  EXPECT_TRUE(locks.ok()) << locks.status();
  EXPECT_EQ(FallbackCount(Fallback::kNoPrivateNamespace) - before, has_namespace ? 0u : 1u);
}

TEST(NamedMutexesTest, ProcessesWithAndWithoutTheNamespaceExcludeEachOther) {
  const std::string name = absl::StrCat("disk/mixed-", GetCurrentProcessId());
  const auto with = WithPrivateNames();
  const auto without = NewNamedMutexes("");
  ASSERT_TRUE(without.ok()) << without.status();
  for (int i = 0; i < 2; ++i) {
    ProcessLocks& first = i == 0 ? *with : **without;
    ProcessLocks& second = i == 0 ? **without : *with;
    auto held = first.Acquire(CallContext(), name);
    ASSERT_TRUE(held.ok()) << held.status();
    EXPECT_TRUE(absl::IsDeadlineExceeded(AcquireElsewhere(second, name)));
    held->reset();
    EXPECT_TRUE(AcquireElsewhere(second, name).ok());
  }
}

// Wine has no private namespace, so the warning is left out there.
TEST(NamedMutexesTest, UnderWineAMissingNamespaceCausesNoWarning) {
  std::vector<std::string> warnings;
  const auto locks = NewProcessLocks(
      "", [&](absl::string_view warning) { warnings.push_back(std::string(warning)); });
  ASSERT_TRUE(locks.ok()) << locks.status();
  EXPECT_TRUE(warnings.empty()) << warnings[0];
}

}  // namespace
}  // namespace csi_proxy
