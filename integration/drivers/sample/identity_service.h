// csi.v1.Identity.
#pragma once

#include "integration/drivers/sample/csi.grpc.pb.h"
#include "integration/drivers/sample/mounter.h"

namespace csi_proxy::sample_driver {

class IdentityService final : public csi::v1::Identity::Service {
 public:
  explicit IdentityService(Mounter* mounter) : mounter_(mounter) {}

 private:
  grpc::Status GetPluginInfo(grpc::ServerContext* context,
                             const csi::v1::GetPluginInfoRequest* request,
                             csi::v1::GetPluginInfoResponse* response) override;
  grpc::Status GetPluginCapabilities(grpc::ServerContext* context,
                                     const csi::v1::GetPluginCapabilitiesRequest* request,
                                     csi::v1::GetPluginCapabilitiesResponse* response) override;
  grpc::Status Probe(grpc::ServerContext* context, const csi::v1::ProbeRequest* request,
                     csi::v1::ProbeResponse* response) override;

  Mounter* const mounter_;
};

}  // namespace csi_proxy::sample_driver
