#include "absl/strings/str_cat.h"
#include "integration/support/node_admin.h"

namespace csi_proxy::integration {

bool MachineIsDouble() { return false; }

absl::Status CallMachineAdmin(const std::string&, const google::protobuf::Message&,
                              google::protobuf::Message*) {
  return absl::UnimplementedError("this machine is not a double");
}

std::string FaultRule(const std::string& operation, int times) {
  return absl::StrCat("operation: '", operation, "' times: ", times,
                      " code: 'INTERNAL' error { code: 5 }");
}

std::string MachineFaultWords(const std::string&) { return ""; }

}  // namespace csi_proxy::integration
