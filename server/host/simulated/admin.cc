#include "server/host/simulated/admin.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "server/host/simulated/admin.grpc.pb.h"
#include "server/host/simulated/scenario.h"

namespace csi_proxy::host::simulated {
namespace {

namespace proto = ::csi_proxy::simulated;
using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;

// Nothing here waits, so every call is answered on gRPC's own thread.
Reactor* Answer(Context* context, const absl::Status& status) {
  Reactor* const reactor = context->DefaultReactor();
  reactor->Finish(
      grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message())));
  return reactor;
}

class AdminService final : public proto::Admin::CallbackService {
 public:
  explicit AdminService(Node* node) : node_(node) {}

  Reactor* AttachDisk(Context* context, const proto::AttachDiskRequest* request,
                      proto::AttachDiskResponse* response) override {
    absl::StatusOr<Disk> disk = DiskFromProto(request->disk());
    if (!disk.ok()) return Answer(context, disk.status());
    const auto number = request->choose_number() ? std::nullopt : std::optional(disk->number);
    const absl::StatusOr<uint32_t> attached = node_->AttachDisk(*std::move(disk), number);
    if (attached.ok()) response->set_disk_number(*attached);
    return Answer(context, attached.status());
  }
  Reactor* DetachDisk(Context* context, const proto::DetachDiskRequest* request,
                      proto::DetachDiskResponse*) override {
    return Answer(context, node_->DetachDisk(request->disk_number()));
  }
  Reactor* GrowDisk(Context* context, const proto::GrowDiskRequest* request,
                    proto::GrowDiskResponse*) override {
    return Answer(context, node_->GrowDisk(request->disk_number(), request->size_bytes()));
  }
  Reactor* AddShare(Context* context, const proto::AddShareRequest* request,
                    proto::AddShareResponse*) override {
    return Answer(context, node_->AddShare(request->server(), request->share()));
  }
  Reactor* SetSmbPassword(Context* context, const proto::SetSmbPasswordRequest* request,
                          proto::SetSmbPasswordResponse*) override {
    return Answer(context, node_->SetSmbPassword(request->server(), request->user(),
                                                 Secret(request->password())));
  }
  Reactor* SetServerReachable(Context* context, const proto::SetServerReachableRequest* request,
                              proto::SetServerReachableResponse*) override {
    return Answer(context, node_->SetServerReachable(request->server(), request->reachable()));
  }
  Reactor* BreakMapping(Context* context, const proto::BreakMappingRequest* request,
                        proto::BreakMappingResponse*) override {
    return Answer(context, node_->BreakMapping(request->share()));
  }
  Reactor* InjectFault(Context* context, const proto::InjectFaultRequest* request,
                       proto::InjectFaultResponse*) override {
    absl::StatusOr<FaultRule> rule = FaultFromProto(request->fault());
    if (!rule.ok()) return Answer(context, rule.status());
    return Answer(context, node_->InjectFault(*std::move(rule)));
  }
  Reactor* ClearFaults(Context* context, const proto::ClearFaultsRequest*,
                       proto::ClearFaultsResponse*) override {
    node_->ClearFaults();
    return Answer(context, absl::OkStatus());
  }
  Reactor* WriteFile(Context* context, const proto::WriteFileRequest* request,
                     proto::WriteFileResponse*) override {
    return Answer(context,
                  node_->WriteFile(request->path(), request->size_bytes(), request->read_only()));
  }
  Reactor* MakeDirectory(Context* context, const proto::MakeDirectoryRequest* request,
                         proto::MakeDirectoryResponse*) override {
    return Answer(context, node_->MakeDirectory(request->path()));
  }
  Reactor* MakeLink(Context* context, const proto::MakeLinkRequest* request,
                    proto::MakeLinkResponse*) override {
    return Answer(context, node_->MakeLink(request->path(), request->target()));
  }
  Reactor* DumpState(Context* context, const proto::DumpStateRequest* request,
                     proto::DumpStateResponse* response) override {
    *response->mutable_node() = StateToProto(node_->Snapshot());
    if (request->json()) response->set_json(ToJson(response->node()));
    return Answer(context, absl::OkStatus());
  }
  Reactor* Reset(Context* context, const proto::ResetRequest*, proto::ResetResponse*) override {
    node_->Reset();
    return Answer(context, absl::OkStatus());
  }

 private:
  Node* const node_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewAdminService(Node* node) {
  return std::make_unique<AdminService>(node);
}

}  // namespace csi_proxy::host::simulated
