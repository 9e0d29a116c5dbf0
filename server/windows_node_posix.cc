#include "server/windows_node.h"

namespace csi_proxy {

absl::StatusOr<std::unique_ptr<host::Host>> OpenWindowsNode() {
  return absl::UnimplementedError(
      "--host=windows: this machine is no Windows node; --host=simulated serves a node in memory");
}

}  // namespace csi_proxy
