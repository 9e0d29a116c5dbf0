#include "absl/strings/str_cat.h"
#include "integration/sample/csi.grpc.pb.h"
#include "integration/sample/services.h"

namespace csi_proxy::sample {
namespace {

using csi::v1::NodeServiceCapability;

// Checks the capability, which a request must have.
template <typename Request>
absl::Status RequireCapability(const Request& request) {
  if (request.has_volume_capability()) return CheckCapability(request.volume_capability());
  return absl::InvalidArgumentError("volume_capability: is missing");
}

class NodeService final : public csi::v1::Node::Service {
 public:
  NodeService(Mounter* mounter, VolumeLocks* locks, std::string node_id)
      : mounter_(mounter), locks_(locks), node_id_(std::move(node_id)) {}

 private:
  absl::Status Stage(const csi::v1::NodeStageVolumeRequest& request, const CallOptions& call) {
    if (absl::Status s = Require("volume_id", request.volume_id()); !s.ok()) return s;
    if (absl::Status s = Require("staging_target_path", request.staging_target_path()); !s.ok()) {
      return s;
    }
    if (absl::Status s = RequireCapability(request); !s.ok()) return s;
    const auto lock = locks_->Acquire(request.volume_id());
    if (!lock.ok()) return lock.status();
    return mounter_->Stage(request.volume_id(), request.staging_target_path(), call);
  }

  absl::Status Unstage(const csi::v1::NodeUnstageVolumeRequest& request, const CallOptions& call) {
    if (absl::Status s = Require("volume_id", request.volume_id()); !s.ok()) return s;
    if (absl::Status s = Require("staging_target_path", request.staging_target_path()); !s.ok()) {
      return s;
    }
    const auto lock = locks_->Acquire(request.volume_id());
    if (!lock.ok()) return lock.status();
    return mounter_->Unstage(request.volume_id(), request.staging_target_path(), call);
  }

  absl::Status Publish(const csi::v1::NodePublishVolumeRequest& request, const CallOptions& call) {
    if (absl::Status s = Require("volume_id", request.volume_id()); !s.ok()) return s;
    if (absl::Status s = Require("target_path", request.target_path()); !s.ok()) return s;
    if (absl::Status s = RequireCapability(request); !s.ok()) return s;
    if (request.staging_target_path().empty()) {
      return absl::FailedPreconditionError("staging_target_path: is missing");
    }
    const auto lock = locks_->Acquire(request.volume_id());
    if (!lock.ok()) return lock.status();
    // Ignores `readonly`: links cannot be read-only, and another pod may write to the volume. As
    // with other drivers on Windows, the container runtime mounts the volume read-only.
    return mounter_->Publish(request.volume_id(), request.staging_target_path(),
                             request.target_path(), call);
  }

  absl::Status Unpublish(const csi::v1::NodeUnpublishVolumeRequest& request,
                         const CallOptions& call) {
    if (absl::Status s = Require("volume_id", request.volume_id()); !s.ok()) return s;
    if (absl::Status s = Require("target_path", request.target_path()); !s.ok()) return s;
    const auto lock = locks_->Acquire(request.volume_id());
    if (!lock.ok()) return lock.status();
    return mounter_->Unpublish(request.target_path(), call);
  }

  absl::Status Measure(const csi::v1::NodeGetVolumeStatsRequest& request, const CallOptions& call,
                       csi::v1::VolumeUsage* usage) {
    if (absl::Status s = Require("volume_id", request.volume_id()); !s.ok()) return s;
    if (absl::Status s = Require("volume_path", request.volume_path()); !s.ok()) return s;
    const absl::StatusOr<VolumeUse> use =
        mounter_->Measure(request.volume_id(), request.volume_path(), call);
    if (!use.ok()) return use.status();
    usage->set_unit(csi::v1::VolumeUsage::BYTES);
    usage->set_total(use->total_bytes);
    usage->set_used(use->used_bytes);
    usage->set_available(use->total_bytes - use->used_bytes);
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> Expand(const csi::v1::NodeExpandVolumeRequest& request,
                                 const CallOptions& call) {
    if (absl::Status s = Require("volume_id", request.volume_id()); !s.ok()) return s;
    if (absl::Status s = Require("volume_path", request.volume_path()); !s.ok()) return s;
    if (request.has_volume_capability()) {
      if (absl::Status s = CheckCapability(request.volume_capability()); !s.ok()) return s;
    }
    const auto lock = locks_->Acquire(request.volume_id());
    if (!lock.ok()) return lock.status();
    const absl::StatusOr<int64_t> size =
        mounter_->Expand(request.volume_id(), request.volume_path(), call);
    if (!size.ok() || *size >= request.capacity_range().required_bytes()) return size;
    return absl::OutOfRangeError(
        absl::StrCat("capacity_range: the disk has ", *size, " bytes; expand it first"));
  }

  grpc::Status NodeStageVolume(grpc::ServerContext* context,
                               const csi::v1::NodeStageVolumeRequest* request,
                               csi::v1::NodeStageVolumeResponse*) override {
    return ToGrpc(Stage(*request, WithDeadlineOf(*context)));
  }

  grpc::Status NodeUnstageVolume(grpc::ServerContext* context,
                                 const csi::v1::NodeUnstageVolumeRequest* request,
                                 csi::v1::NodeUnstageVolumeResponse*) override {
    return ToGrpc(Unstage(*request, WithDeadlineOf(*context)));
  }

  grpc::Status NodePublishVolume(grpc::ServerContext* context,
                                 const csi::v1::NodePublishVolumeRequest* request,
                                 csi::v1::NodePublishVolumeResponse*) override {
    return ToGrpc(Publish(*request, WithDeadlineOf(*context)));
  }

  grpc::Status NodeUnpublishVolume(grpc::ServerContext* context,
                                   const csi::v1::NodeUnpublishVolumeRequest* request,
                                   csi::v1::NodeUnpublishVolumeResponse*) override {
    return ToGrpc(Unpublish(*request, WithDeadlineOf(*context)));
  }

  grpc::Status NodeGetVolumeStats(grpc::ServerContext* context,
                                  const csi::v1::NodeGetVolumeStatsRequest* request,
                                  csi::v1::NodeGetVolumeStatsResponse* response) override {
    return ToGrpc(Measure(*request, WithDeadlineOf(*context), response->add_usage()));
  }

  grpc::Status NodeExpandVolume(grpc::ServerContext* context,
                                const csi::v1::NodeExpandVolumeRequest* request,
                                csi::v1::NodeExpandVolumeResponse* response) override {
    const absl::StatusOr<int64_t> size = Expand(*request, WithDeadlineOf(*context));
    if (size.ok()) response->set_capacity_bytes(*size);
    return ToGrpc(size.status());
  }

  grpc::Status NodeGetCapabilities(grpc::ServerContext*, const csi::v1::NodeGetCapabilitiesRequest*,
                                   csi::v1::NodeGetCapabilitiesResponse* response) override {
    for (const NodeServiceCapability::RPC::Type type :
         {NodeServiceCapability::RPC::STAGE_UNSTAGE_VOLUME,
          NodeServiceCapability::RPC::GET_VOLUME_STATS,
          NodeServiceCapability::RPC::EXPAND_VOLUME}) {
      response->add_capabilities()->mutable_rpc()->set_type(type);
    }
    return grpc::Status::OK;
  }

  grpc::Status NodeGetInfo(grpc::ServerContext*, const csi::v1::NodeGetInfoRequest*,
                           csi::v1::NodeGetInfoResponse* response) override {
    response->set_node_id(node_id_);
    *response->mutable_accessible_topology() = TopologyOf(node_id_);
    return grpc::Status::OK;
  }

  Mounter* const mounter_;
  VolumeLocks* const locks_;
  const std::string node_id_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewNodeService(Mounter* mounter, VolumeLocks* locks,
                                              std::string node_id) {
  return std::make_unique<NodeService>(mounter, locks, std::move(node_id));
}

}  // namespace csi_proxy::sample
