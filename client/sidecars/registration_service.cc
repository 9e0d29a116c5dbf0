#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/support/method_handler.h>

#include <utility>

#include "client/sidecars/registrar.h"
#include "client/sidecars/wire.pb.h"

namespace csi_proxy::sidecars {
namespace {

// The values that the kubelet expects. It compares the version with 1.0.0, not with CSI's release
// (https://github.com/kubernetes/kubernetes/blob/v1.37.2/pkg/volume/csi/csi_plugin.go).
constexpr char kType[] = "CSIPlugin", kVersion[] = "1.0.0";

// Returns a synchronous method: its threads sleep until a call arrives. The threads of gRPC's
// callback API wake up every second.
template <typename Request, typename Response>
grpc::internal::RpcServiceMethod* Method(
    const char* path,
    std::function<void(const grpc::ServerContext&, const Request&, Response*)> answer) {
  using Handler = grpc::internal::RpcMethodHandler<RegistrationService, Request, Response,
                                                   google::protobuf::MessageLite,
                                                   google::protobuf::MessageLite>;
  return new grpc::internal::RpcServiceMethod(
      path, grpc::internal::RpcMethod::NORMAL_RPC,
      new Handler(
          [answer = std::move(answer)](RegistrationService*, grpc::ServerContext* context,
                                       const Request* request, Response* response) {
            answer(*context, *request, response);
            return grpc::Status::OK;
          },
          nullptr));
}

}  // namespace

RegistrationService::RegistrationService(
    std::string driver_name, std::string endpoint, std::function<void()> asked,
    std::function<void(bool accepted, const std::string& reason)> notify) {
  AddMethod(Method<wire::InfoRequest, wire::PluginInfo>(
      "/pluginregistration.Registration/GetInfo",
      [driver_name = std::move(driver_name), endpoint = std::move(endpoint),
       asked = std::move(asked)](const grpc::ServerContext& context, const wire::InfoRequest&,
                                 wire::PluginInfo* info) {
        if (context.client_metadata().count(kHealthMetadata) == 0) asked();
        info->set_type(kType);
        info->set_name(driver_name);
        info->set_endpoint(endpoint);
        info->add_supported_versions(kVersion);
      }));
  AddMethod(Method<wire::RegistrationStatus, wire::RegistrationStatusResponse>(
      "/pluginregistration.Registration/NotifyRegistrationStatus",
      [notify = std::move(notify)](const grpc::ServerContext&,
                                   const wire::RegistrationStatus& status,
                                   wire::RegistrationStatusResponse*) {
        notify(status.plugin_registered(), status.error());
      }));
}

}  // namespace csi_proxy::sidecars
