// csi.v1.Controller: creates, grows and deletes volumes. Uses only the cloud, not csi-proxy.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "integration/drivers/sample/cloud.h"
#include "integration/drivers/sample/csi.grpc.pb.h"
#include "integration/drivers/sample/volume_locks.h"

namespace csi_proxy::sample_driver {

class ControllerService final : public csi::v1::Controller::Service {
 public:
  // `capacity` is the number of bytes for all volumes together. `locks` is shared with the node
  // service.
  ControllerService(Cloud* cloud, VolumeLocks* locks, std::string node_id, int64_t capacity)
      : cloud_(cloud), locks_(locks), node_id_(std::move(node_id)), capacity_(capacity) {}

 private:
  grpc::Status CreateVolume(grpc::ServerContext* context,
                            const csi::v1::CreateVolumeRequest* request,
                            csi::v1::CreateVolumeResponse* response) override;
  grpc::Status DeleteVolume(grpc::ServerContext* context,
                            const csi::v1::DeleteVolumeRequest* request,
                            csi::v1::DeleteVolumeResponse* response) override;
  grpc::Status ValidateVolumeCapabilities(
      grpc::ServerContext* context, const csi::v1::ValidateVolumeCapabilitiesRequest* request,
      csi::v1::ValidateVolumeCapabilitiesResponse* response) override;
  grpc::Status ListVolumes(grpc::ServerContext* context, const csi::v1::ListVolumesRequest* request,
                           csi::v1::ListVolumesResponse* response) override;
  grpc::Status GetCapacity(grpc::ServerContext* context, const csi::v1::GetCapacityRequest* request,
                           csi::v1::GetCapacityResponse* response) override;
  grpc::Status ControllerGetCapabilities(
      grpc::ServerContext* context, const csi::v1::ControllerGetCapabilitiesRequest* request,
      csi::v1::ControllerGetCapabilitiesResponse* response) override;
  grpc::Status ControllerExpandVolume(grpc::ServerContext* context,
                                      const csi::v1::ControllerExpandVolumeRequest* request,
                                      csi::v1::ControllerExpandVolumeResponse* response) override;

  // The rpcs without gRPC.
  absl::StatusOr<CloudDisk> Create(const csi::v1::CreateVolumeRequest& request);
  absl::Status Delete(const csi::v1::DeleteVolumeRequest& request);
  absl::Status Validate(const csi::v1::ValidateVolumeCapabilitiesRequest& request,
                        csi::v1::ValidateVolumeCapabilitiesResponse* response);
  absl::Status List(const csi::v1::ListVolumesRequest& request,
                    csi::v1::ListVolumesResponse* response);
  absl::StatusOr<int64_t> Expand(const csi::v1::ControllerExpandVolumeRequest& request);

  absl::StatusOr<int64_t> FreeBytes();
  void Describe(const CloudDisk& disk, csi::v1::Volume* volume) const;

  Cloud* const cloud_;
  VolumeLocks* const locks_;
  const std::string node_id_;
  const int64_t capacity_;
};

}  // namespace csi_proxy::sample_driver
