#include <gtest/gtest.h>

#include "client/cpp/container.h"
#include "server/base/win32.h"

namespace csi_proxy::client {
namespace {

TEST(ContainerWindowsTest, TheRegistryTells) {
  if (GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_get_version") == nullptr) {
    GTEST_SKIP() << "it would write to the registry of a real machine";
  }
  constexpr wchar_t kKey[] = L"SYSTEM\\CurrentControlSet\\Control", kValue[] = L"ContainerType";
  RegDeleteKeyValueW(HKEY_LOCAL_MACHINE, kKey, kValue);
  const ContainerSigns outside = LookForContainer();
  EXPECT_EQ(outside.container_type, ContainerSigns::Value::kAbsent);
  EXPECT_EQ(outside.user_sid.substr(0, 4), "S-1-");
  const DWORD type = 2;
  ASSERT_EQ(RegSetKeyValueW(HKEY_LOCAL_MACHINE, kKey, kValue, REG_DWORD, &type, sizeof(type)),
            ERROR_SUCCESS);
  EXPECT_EQ(LookForContainer().container_type, ContainerSigns::Value::kPresent);
  EXPECT_EQ(RegDeleteKeyValueW(HKEY_LOCAL_MACHINE, kKey, kValue), ERROR_SUCCESS);
}

}  // namespace
}  // namespace csi_proxy::client
