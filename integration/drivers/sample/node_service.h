// csi.v1.Node: checks requests and passes them to the mounter.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "integration/drivers/sample/csi.grpc.pb.h"
#include "integration/drivers/sample/mounter.h"
#include "integration/drivers/sample/volume_locks.h"

namespace csi_proxy::sample_driver {

class NodeService final : public csi::v1::Node::Service {
 public:
  // `locks` is shared with the controller service.
  NodeService(Mounter* mounter, VolumeLocks* locks, std::string node_id)
      : mounter_(mounter), locks_(locks), node_id_(std::move(node_id)) {}

 private:
  grpc::Status NodeStageVolume(grpc::ServerContext* context,
                               const csi::v1::NodeStageVolumeRequest* request,
                               csi::v1::NodeStageVolumeResponse* response) override;
  grpc::Status NodeUnstageVolume(grpc::ServerContext* context,
                                 const csi::v1::NodeUnstageVolumeRequest* request,
                                 csi::v1::NodeUnstageVolumeResponse* response) override;
  grpc::Status NodePublishVolume(grpc::ServerContext* context,
                                 const csi::v1::NodePublishVolumeRequest* request,
                                 csi::v1::NodePublishVolumeResponse* response) override;
  grpc::Status NodeUnpublishVolume(grpc::ServerContext* context,
                                   const csi::v1::NodeUnpublishVolumeRequest* request,
                                   csi::v1::NodeUnpublishVolumeResponse* response) override;
  grpc::Status NodeGetVolumeStats(grpc::ServerContext* context,
                                  const csi::v1::NodeGetVolumeStatsRequest* request,
                                  csi::v1::NodeGetVolumeStatsResponse* response) override;
  grpc::Status NodeExpandVolume(grpc::ServerContext* context,
                                const csi::v1::NodeExpandVolumeRequest* request,
                                csi::v1::NodeExpandVolumeResponse* response) override;
  grpc::Status NodeGetCapabilities(grpc::ServerContext* context,
                                   const csi::v1::NodeGetCapabilitiesRequest* request,
                                   csi::v1::NodeGetCapabilitiesResponse* response) override;
  grpc::Status NodeGetInfo(grpc::ServerContext* context, const csi::v1::NodeGetInfoRequest* request,
                           csi::v1::NodeGetInfoResponse* response) override;

  // The rpcs without gRPC.
  absl::Status Stage(const csi::v1::NodeStageVolumeRequest& request, const CallOptions& call);
  absl::Status Unstage(const csi::v1::NodeUnstageVolumeRequest& request, const CallOptions& call);
  absl::Status Publish(const csi::v1::NodePublishVolumeRequest& request, const CallOptions& call);
  absl::Status Unpublish(const csi::v1::NodeUnpublishVolumeRequest& request,
                         const CallOptions& call);
  absl::Status Measure(const csi::v1::NodeGetVolumeStatsRequest& request, const CallOptions& call,
                       csi::v1::VolumeUsage* usage);
  absl::StatusOr<int64_t> Expand(const csi::v1::NodeExpandVolumeRequest& request,
                                 const CallOptions& call);

  Mounter* const mounter_;
  VolumeLocks* const locks_;
  const std::string node_id_;
};

}  // namespace csi_proxy::sample_driver
