#include "integration/support/test_node.h"

#include <google/protobuf/text_format.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/pipe_path.h"
#include "client/cpp/remote_channel.h"
#include "integration/support/node_admin.h"

namespace csi_proxy::integration {

absl::Status TestNode::Reset() {
  csi_proxy::simulated::ResetResponse response;
  return Admin("Reset", csi_proxy::simulated::ResetRequest(), &response);
}

absl::Status TestNode::InjectFault(const std::string& textproto) {
  csi_proxy::simulated::InjectFaultRequest request;
  if (!google::protobuf::TextFormat::ParseFromString(textproto, request.mutable_fault())) {
    return absl::InvalidArgumentError("bad fault: " + textproto);
  }
  csi_proxy::simulated::InjectFaultResponse response;
  return Admin("InjectFault", request, &response);
}

uint32_t FailureOf(const std::string& call) {
  if (absl::StartsWith(call, "wmi.Query/")) return 0x80041001;  // WBEM_E_FAILED
  if (absl::StartsWith(call, "wmi.Invoke/")) return 4;          // The return value "failed".
  return 1117;                                                  // ERROR_IO_DEVICE
}

std::string FaultRule(const std::string& call, int times) {
  return absl::StrCat("operation: '", call, "' times: ", times,
                      " code: 'INTERNAL' error { code: ", FailureOf(call), " }");
}

absl::Status CallAdminService(const ClientOptions& options, const std::string& method,
                              const google::protobuf::Message& request,
                              google::protobuf::Message* response) {
  const auto channel =
      client::RemoteChannel::OpenPath(options, client::PipePath(options, "csi-proxy-admin"));
  if (!channel.ok()) return channel.status();
  const std::string path = "/csi_proxy.simulated.Admin/" + method;
  return (*channel)->Call(path.c_str(), client::MakeCallContext({}, {}), request, response);
}

absl::Status TestNode::FailOnce(const std::string& call) { return InjectFault(FaultRule(call, 1)); }

csi_proxy::simulated::Node TestNode::Dump() {
  csi_proxy::simulated::DumpStateResponse response;
  const absl::Status status =
      Admin("DumpState", csi_proxy::simulated::DumpStateRequest(), &response);
  if (!status.ok()) return {};
  return response.node();
}

}  // namespace csi_proxy::integration
