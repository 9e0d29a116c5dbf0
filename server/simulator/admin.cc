#include "server/simulator/admin.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/simulator/admin.pb.h"
#include "server/simulator/scenario.h"

namespace csi_proxy::machine::simulator {
namespace {

namespace proto = ::csi_proxy::simulated;
using google::protobuf::Message;

absl::Status AttachDisk(Machine& node, const proto::AttachDiskRequest& request,
                        proto::AttachDiskResponse* response) {
  ABSL_ASSIGN_OR_RETURN(Disk disk, DiskFor(node, request.disk()));
  const auto number = request.choose_number() ? std::nullopt : std::optional(disk.number);
  const auto place = request.has_place() ? std::optional(request.place()) : std::nullopt;
  if (request.has_copy_of()) {
    ABSL_RETURN_IF_ERROR(node.CopyDisk(request.copy_of(), &disk));
  }
  const absl::StatusOr<uint32_t> attached = node.AttachDisk(std::move(disk), number, place);
  if (attached.ok()) response->set_disk_number(*attached);
  return attached.status();
}

absl::Status DetachDisk(Machine& node, const proto::DetachDiskRequest& request,
                        proto::DetachDiskResponse*) {
  return node.DetachDisk(request.disk_number());
}

absl::Status GrowDisk(Machine& node, const proto::GrowDiskRequest& request,
                      proto::GrowDiskResponse*) {
  return node.GrowDisk(request.disk_number(), request.size_bytes());
}

absl::Status AddShare(Machine& node, const proto::AddShareRequest& request,
                      proto::AddShareResponse*) {
  return node.AddShare(request.server(), request.share());
}

absl::Status SetSmbPassword(Machine& node, const proto::SetSmbPasswordRequest& request,
                            proto::SetSmbPasswordResponse*) {
  return node.SetSmbPassword(request.server(), request.user(), Secret(request.password()));
}

absl::Status SetServerReachable(Machine& node, const proto::SetServerReachableRequest& request,
                                proto::SetServerReachableResponse*) {
  return node.SetServerReachable(request.server(), request.reachable());
}

absl::Status BreakMapping(Machine& node, const proto::BreakMappingRequest& request,
                          proto::BreakMappingResponse*) {
  return node.BreakMapping(request.share());
}

absl::Status InjectFault(Machine& node, const proto::InjectFaultRequest& request,
                         proto::InjectFaultResponse*) {
  ABSL_ASSIGN_OR_RETURN(FaultRule rule, FaultFromProto(request.fault()));
  return node.InjectFault(std::move(rule));
}

absl::Status ClearFaults(Machine& node, const proto::ClearFaultsRequest&,
                         proto::ClearFaultsResponse*) {
  node.ClearFaults();
  return absl::OkStatus();
}

absl::Status SetBehaviour(Machine& node, const proto::SetBehaviourRequest& request,
                          proto::SetBehaviourResponse*) {
  ABSL_ASSIGN_OR_RETURN(const Behaviour behaviour, BehaviourFromProto(request.behaviour()));
  return node.SetBehaviour(behaviour);
}

absl::Status SetOtherOpens(Machine& node, const proto::SetOtherOpensRequest& request,
                           proto::SetOtherOpensResponse*) {
  std::vector<OtherOpen> opens;
  for (const proto::OtherOpen& open : request.other_open()) {
    ABSL_ASSIGN_OR_RETURN(OtherOpen read, OtherOpenFromProto(open));
    opens.push_back(std::move(read));
  }
  return node.SetOtherOpens(std::move(opens));
}

absl::Status WriteFile(Machine& node, const proto::WriteFileRequest& request,
                       proto::WriteFileResponse*) {
  return node.WriteFile(request.path(), request.size_bytes(), request.read_only());
}

absl::Status MakeDirectory(Machine& node, const proto::MakeDirectoryRequest& request,
                           proto::MakeDirectoryResponse*) {
  return node.MakeDirectory(request.path());
}

absl::Status RemoveFolder(Machine& node, const proto::RemoveFolderRequest& request,
                          proto::RemoveFolderResponse*) {
  return node.RemoveFolder(request.path());
}

absl::Status MakeLink(Machine& node, const proto::MakeLinkRequest& request,
                      proto::MakeLinkResponse*) {
  return node.MakeLink(request.path(), request.target(), request.junction());
}

absl::Status Reboot(Machine& node, const proto::RebootRequest&, proto::RebootResponse*) {
  node.Reboot();
  return absl::OkStatus();
}

absl::Status DumpState(Machine& node, const proto::DumpStateRequest& request,
                       proto::DumpStateResponse* response) {
  *response->mutable_node() = StateToProto(node.Snapshot());
  if (request.json()) response->set_json(ToJson(response->node()));
  return absl::OkStatus();
}

absl::Status CountCalls(Machine& node, const proto::CountCallsRequest&,
                        proto::CountCallsResponse* response) {
  const CallCounts counts = node.CountCalls();
  response->set_win32_calls(counts.win32_calls);
  response->set_wmi_calls(counts.wmi_calls);
  response->set_wmi_objects(counts.wmi_objects);
  return absl::OkStatus();
}

absl::Status Reset(Machine& node, const proto::ResetRequest&, proto::ResetResponse*) {
  node.Reset();
  return absl::OkStatus();
}

struct Method {
  absl::string_view name;
  // Return the default instances of the method's request and response.
  const Message& (*request)();
  const Message& (*response)();
  absl::Status (*call)(Machine& node, const Message& request, Message* response);
};

template <typename T>
const Message& Empty() {
  return T::default_instance();
}

template <auto kCall>
struct Row;
template <typename Request, typename Response,
          absl::Status (*kCall)(Machine&, const Request&, Response*)>
struct Row<kCall> {
  static constexpr Method Named(absl::string_view name) {
    return {name, &Empty<Request>, &Empty<Response>,
            [](Machine& node, const Message& request, Message* response) {
              return kCall(node, static_cast<const Request&>(request),
                           static_cast<Response*>(response));
            }};
  }
};

constexpr Method kMethods[] = {
    Row<&AttachDisk>::Named("AttachDisk"),
    Row<&DetachDisk>::Named("DetachDisk"),
    Row<&GrowDisk>::Named("GrowDisk"),
    Row<&AddShare>::Named("AddShare"),
    Row<&SetSmbPassword>::Named("SetSmbPassword"),
    Row<&SetServerReachable>::Named("SetServerReachable"),
    Row<&BreakMapping>::Named("BreakMapping"),
    Row<&InjectFault>::Named("InjectFault"),
    Row<&ClearFaults>::Named("ClearFaults"),
    Row<&SetBehaviour>::Named("SetBehaviour"),
    Row<&SetOtherOpens>::Named("SetOtherOpens"),
    Row<&WriteFile>::Named("WriteFile"),
    Row<&MakeDirectory>::Named("MakeDirectory"),
    Row<&RemoveFolder>::Named("RemoveFolder"),
    Row<&MakeLink>::Named("MakeLink"),
    Row<&Reboot>::Named("Reboot"),
    Row<&DumpState>::Named("DumpState"),
    Row<&CountCalls>::Named("CountCalls"),
    Row<&Reset>::Named("Reset"),
};

absl::StatusOr<const Method*> Find(absl::string_view name) {
  const auto* const found = std::find_if(std::begin(kMethods), std::end(kMethods),
                                         [&](const Method& method) { return method.name == name; });
  if (found != std::end(kMethods)) return found;
  return absl::UnimplementedError(absl::StrCat("the admin service has no method ", name));
}

}  // namespace

absl::Status CallAdmin(Machine& node, absl::string_view method, const Message& request,
                       Message* response) {
  ABSL_ASSIGN_OR_RETURN(const Method* const found, Find(method));
  return found->call(node, request, response);
}

absl::StatusOr<std::string> CallAdmin(Machine& node, absl::string_view method,
                                      const std::string& request) {
  ABSL_ASSIGN_OR_RETURN(const Method* const found, Find(method));
  const std::unique_ptr<Message> asked(found->request().New());
  if (!asked->ParseFromString(request)) {
    return absl::InvalidArgumentError(absl::StrCat("no request of ", method));
  }
  const std::unique_ptr<Message> answer(found->response().New());
  const absl::Status status = found->call(node, *asked, answer.get());
  if (!status.ok()) return status;
  return answer->SerializeAsString();
}

}  // namespace csi_proxy::machine::simulator
