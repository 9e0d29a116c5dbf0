#include "server/node/opened_machine.h"

namespace csi_proxy {

absl::StatusOr<OpenedMachine> OpenThisMachine(const LineFunction&) {
  return absl::UnimplementedError("this machine is not a Windows node");
}

}  // namespace csi_proxy
