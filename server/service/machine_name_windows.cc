#include <windows.h>

#include "server/service/machine_name.h"

namespace csi_proxy::service {

std::string MachineName() {
  char name[MAX_COMPUTERNAME_LENGTH + 1] = {};
  DWORD size = sizeof(name);
  return GetComputerNameA(name, &size) != 0 ? name : "unknownhost";
}

}  // namespace csi_proxy::service
