#include "client/cpp/container.h"
#include "server/platform/token_windows.h"
#include "server/platform/win32.h"

namespace csi_proxy::client {

ContainerSigns LookForContainer() {
  ContainerSigns signs;
  DWORD size = 0;
  switch (RegGetValueW(HKEY_LOCAL_MACHINE, L"SYSTEM\\CurrentControlSet\\Control", L"ContainerType",
                       RRF_RT_ANY, nullptr, nullptr, &size)) {
    case ERROR_SUCCESS:
      signs.container_type = ContainerSigns::Value::kPresent;
      break;
    case ERROR_FILE_NOT_FOUND:
      signs.container_type = ContainerSigns::Value::kAbsent;
      break;
    default:
      break;
  }
  if (absl::StatusOr<std::string> user = win32::UserOfThisProcess(); user.ok()) {
    signs.user_sid = *std::move(user);
  }
  return signs;
}

}  // namespace csi_proxy::client
