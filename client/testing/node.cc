#include "csi_proxy/testing/node.h"

#include "client/testing/paths.h"
#include "client/testing/state_from_proto.h"
#include "server/simulator/admin.pb.h"

namespace csi_proxy {
namespace {

// Calls a method of csi_proxy.simulated.Admin. Without a request it gets an empty one.
template <typename Response>
absl::StatusOr<Response> Administer(Node& node, absl::string_view method,
                                    const google::protobuf::MessageLite* request) {
  const absl::StatusOr<std::string> answer =
      node.Administer(method, request != nullptr ? request->SerializeAsString() : "");
  if (!answer.ok()) return answer.status();
  Response response;
  if (!response.ParseFromString(*answer)) return absl::InternalError("not an answer");
  return response;
}

absl::Status Change(Node& node, absl::string_view method) {
  return node.Administer(method, "").status();
}
absl::Status Change(Node& node, absl::string_view method,
                    const google::protobuf::MessageLite& request) {
  return node.Administer(method, request.SerializeAsString()).status();
}

std::string Text(absl::string_view text) { return std::string(text); }

}  // namespace

absl::StatusOr<SimulatedNode> SimulatedNode::Create(absl::string_view scenario,
                                                    NodeOptions options) {
  absl::StatusOr<std::shared_ptr<Node>> node = Node::Simulated(std::move(options), scenario);
  if (!node.ok()) return node.status();
  return SimulatedNode(*std::move(node));
}

absl::StatusOr<uint32_t> SimulatedNode::AttachDisk(const simulated_node::Disk& disk) const {
  simulated::AttachDiskRequest request;
  *request.mutable_disk() = simulated_node::ToProto(disk);
  request.set_choose_number(disk.number == 0);
  const auto response = Administer<simulated::AttachDiskResponse>(*node_, "AttachDisk", &request);
  if (!response.ok()) return response.status();
  return response->disk_number();
}

absl::Status SimulatedNode::DetachDisk(uint32_t number) const {
  simulated::DetachDiskRequest request;
  request.set_disk_number(number);
  return Change(*node_, "DetachDisk", request);
}

absl::Status SimulatedNode::GrowDisk(uint32_t number, uint64_t size_bytes) const {
  simulated::GrowDiskRequest request;
  request.set_disk_number(number);
  request.set_size_bytes(size_bytes);
  return Change(*node_, "GrowDisk", request);
}

absl::Status SimulatedNode::Reboot() const { return Change(*node_, "Reboot"); }

absl::Status SimulatedNode::Reset() const { return Change(*node_, "Reset"); }

absl::Status SimulatedNode::AddShare(absl::string_view server, absl::string_view share) const {
  simulated::AddShareRequest request;
  request.set_server(Text(server));
  request.set_share(Text(share));
  return Change(*node_, "AddShare", request);
}

absl::Status SimulatedNode::SetSmbPassword(absl::string_view server, absl::string_view user,
                                           absl::string_view password) const {
  simulated::SetSmbPasswordRequest request;
  request.set_server(Text(server));
  request.set_user(Text(user));
  request.set_password(Text(password));
  return Change(*node_, "SetSmbPassword", request);
}

absl::Status SimulatedNode::SetServerReachable(absl::string_view server, bool reachable) const {
  simulated::SetServerReachableRequest request;
  request.set_server(Text(server));
  request.set_reachable(reachable);
  return Change(*node_, "SetServerReachable", request);
}

absl::Status SimulatedNode::BreakMapping(absl::string_view share) const {
  simulated::BreakMappingRequest request;
  request.set_share(Text(share));
  return Change(*node_, "BreakMapping", request);
}

absl::Status SimulatedNode::WriteFile(absl::string_view path, uint64_t size_bytes) const {
  simulated::WriteFileRequest request;
  request.set_path(simulated_node::FullPath(path));
  request.set_size_bytes(size_bytes);
  return Change(*node_, "WriteFile", request);
}

absl::Status SimulatedNode::MakeDirectory(absl::string_view path) const {
  simulated::MakeDirectoryRequest request;
  request.set_path(simulated_node::FullPath(path));
  return Change(*node_, "MakeDirectory", request);
}

absl::Status SimulatedNode::RemoveFolder(absl::string_view path) const {
  simulated::RemoveFolderRequest request;
  request.set_path(simulated_node::FullPath(path));
  return Change(*node_, "RemoveFolder", request);
}

absl::Status SimulatedNode::MakeLink(absl::string_view path, absl::string_view target) const {
  simulated::MakeLinkRequest request;
  request.set_path(simulated_node::FullPath(path));
  request.set_target(Text(target));
  return Change(*node_, "MakeLink", request);
}

absl::Status SimulatedNode::InjectFault(const simulated_node::Fault& fault) const {
  simulated::InjectFaultRequest request;
  simulated::Fault& rule = *request.mutable_fault();
  rule.set_operation(fault.operation);
  rule.set_resource(fault.resource);
  rule.set_times(fault.times);
  rule.set_latency_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(fault.latency)));
  if (fault.code != absl::StatusCode::kOk) rule.set_code(absl::StatusCodeToString(fault.code));
  if (fault.windows_error != 0) rule.mutable_error()->set_code(fault.windows_error);
  return Change(*node_, "InjectFault", request);
}

absl::Status SimulatedNode::ClearFaults() const { return Change(*node_, "ClearFaults"); }

simulated_node::State SimulatedNode::state() const {
  // A simulated node can always show its state.
  return simulated_node::FromProto(
      Administer<simulated::DumpStateResponse>(*node_, "DumpState", nullptr).value().node());
}

}  // namespace csi_proxy
