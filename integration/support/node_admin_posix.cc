#include "integration/support/node_admin.h"

namespace csi_proxy::integration {

bool MachineIsDouble() { return false; }

absl::Status CallMachineAdmin(const std::string&, const google::protobuf::Message&,
                              google::protobuf::Message*) {
  return absl::UnimplementedError("this machine is not a double");
}

}  // namespace csi_proxy::integration
