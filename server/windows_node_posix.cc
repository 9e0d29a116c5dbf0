#include "server/windows_node.h"

namespace csi_proxy {

absl::StatusOr<std::unique_ptr<host::Host>> OpenWindowsNode(
    const std::function<void(absl::string_view)>&) {
  return absl::UnimplementedError(
      "this machine is no Windows node; a simulated one lives in memory");
}

}  // namespace csi_proxy
