#include <unistd.h>

#include "server/service/machine_name.h"

namespace csi_proxy::service {

std::string MachineName() {
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) != 0) return "unknownhost";
  const std::string host = name;
  return host.substr(0, host.find('.'));
}

}  // namespace csi_proxy::service
