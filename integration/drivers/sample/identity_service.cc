#include "integration/drivers/sample/identity_service.h"

#include "integration/drivers/sample/rpc.h"

namespace csi_proxy::sample_driver {

using csi::v1::PluginCapability;

grpc::Status IdentityService::GetPluginInfo(grpc::ServerContext*,
                                            const csi::v1::GetPluginInfoRequest*,
                                            csi::v1::GetPluginInfoResponse* response) {
  response->set_name("sample.csi-proxy.example");
  response->set_vendor_version(SAMPLE_DRIVER_VERSION);
  return grpc::Status::OK;
}

grpc::Status IdentityService::GetPluginCapabilities(
    grpc::ServerContext*, const csi::v1::GetPluginCapabilitiesRequest*,
    csi::v1::GetPluginCapabilitiesResponse* response) {
  for (const PluginCapability::Service::Type type :
       {PluginCapability::Service::CONTROLLER_SERVICE,
        PluginCapability::Service::VOLUME_ACCESSIBILITY_CONSTRAINTS}) {
    response->add_capabilities()->mutable_service()->set_type(type);
  }
  response->add_capabilities()->mutable_volume_expansion()->set_type(
      PluginCapability::VolumeExpansion::ONLINE);
  return grpc::Status::OK;
}

grpc::Status IdentityService::Probe(grpc::ServerContext* context, const csi::v1::ProbeRequest*,
                                    csi::v1::ProbeResponse* response) {
  const absl::Status status = mounter_->Check(WithDeadlineOf(*context));
  // UNAVAILABLE means not ready: waiting for a service that restarts is better than restarting the
  // driver.
  if (!status.ok() && !absl::IsUnavailable(status)) return ToGrpc(status);
  response->mutable_ready()->set_value(status.ok());
  return grpc::Status::OK;
}

}  // namespace csi_proxy::sample_driver
