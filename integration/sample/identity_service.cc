#include "integration/sample/csi.grpc.pb.h"
#include "integration/sample/services.h"

namespace csi_proxy::sample {

using csi::v1::PluginCapability;

namespace {

class IdentityService final : public csi::v1::Identity::Service {
 public:
  explicit IdentityService(Mounter* mounter) : mounter_(mounter) {}

 private:
  grpc::Status GetPluginInfo(grpc::ServerContext*, const csi::v1::GetPluginInfoRequest*,
                             csi::v1::GetPluginInfoResponse* response) override {
    response->set_name("sample.csi-proxy.example");
    response->set_vendor_version(SAMPLE_DRIVER_VERSION);
    return grpc::Status::OK;
  }

  grpc::Status GetPluginCapabilities(grpc::ServerContext*,
                                     const csi::v1::GetPluginCapabilitiesRequest*,
                                     csi::v1::GetPluginCapabilitiesResponse* response) override {
    for (const PluginCapability::Service::Type type :
         {PluginCapability::Service::CONTROLLER_SERVICE,
          PluginCapability::Service::VOLUME_ACCESSIBILITY_CONSTRAINTS}) {
      response->add_capabilities()->mutable_service()->set_type(type);
    }
    response->add_capabilities()->mutable_volume_expansion()->set_type(
        PluginCapability::VolumeExpansion::ONLINE);
    return grpc::Status::OK;
  }

  grpc::Status Probe(grpc::ServerContext* context, const csi::v1::ProbeRequest*,
                     csi::v1::ProbeResponse* response) override {
    const absl::Status status = mounter_->Check(WithDeadlineOf(*context));
    // UNAVAILABLE means not ready: waiting for a service that restarts is better than restarting
    // the driver.
    if (!status.ok() && !absl::IsUnavailable(status)) return ToGrpc(status);
    response->mutable_ready()->set_value(status.ok());
    return grpc::Status::OK;
  }

  Mounter* const mounter_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewIdentityService(Mounter* mounter) {
  return std::make_unique<IdentityService>(mounter);
}

}  // namespace csi_proxy::sample
