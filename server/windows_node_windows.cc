#include <utility>

#include "server/host/windows/cim/com_session.h"
#include "server/host/windows/os.h"
#include "server/host/windows/windows_host.h"
#include "server/windows_node.h"

namespace csi_proxy {

absl::StatusOr<std::unique_ptr<host::Host>> OpenWindowsNode() {
  return host::windows::NewWindowsHost(cim::NewComSession(), host::windows::NewOs());
}

}  // namespace csi_proxy
