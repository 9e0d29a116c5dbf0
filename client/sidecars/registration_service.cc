#include "client/sidecars/registration_service.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/support/server_callback.h>

#include <utility>

#include "client/sidecars/wire.pb.h"

namespace csi_proxy::sidecars {
namespace {

// What the kubelet takes: it compares the version with 1.0.0, not with the release of CSI
// (https://github.com/kubernetes/kubernetes/blob/v1.37.2/pkg/volume/csi/csi_plugin.go).
constexpr char kType[] = "CSIPlugin", kVersion[] = "1.0.0";

grpc::internal::RpcServiceMethod* Method(const char* path) {
  return new grpc::internal::RpcServiceMethod(path, grpc::internal::RpcMethod::NORMAL_RPC, nullptr);
}

template <typename Request, typename Response>
grpc::internal::MethodHandler* Handler(std::function<void(const Request&, Response*)> answer) {
  return new grpc::internal::CallbackUnaryHandler<Request, Response>(
      [answer = std::move(answer)](grpc::CallbackServerContext* context, const Request* request,
                                   Response* response) {
        answer(*request, response);
        grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
        reactor->Finish(grpc::Status::OK);
        return reactor;
      });
}

}  // namespace

RegistrationService::RegistrationService(
    std::string driver_name, std::string endpoint,
    std::function<void(bool accepted, const std::string& reason)> notify) {
  AddMethod(Method("/pluginregistration.Registration/GetInfo"));
  MarkMethodCallback(0, Handler<wire::InfoRequest, wire::PluginInfo>(
                            [driver_name = std::move(driver_name), endpoint = std::move(endpoint)](
                                const wire::InfoRequest&, wire::PluginInfo* info) {
                              info->set_type(kType);
                              info->set_name(driver_name);
                              info->set_endpoint(endpoint);
                              info->add_supported_versions(kVersion);
                            }));
  AddMethod(Method("/pluginregistration.Registration/NotifyRegistrationStatus"));
  MarkMethodCallback(1, Handler<wire::RegistrationStatus, wire::RegistrationStatusResponse>(
                            [notify = std::move(notify)](const wire::RegistrationStatus& status,
                                                         wire::RegistrationStatusResponse*) {
                              notify(status.plugin_registered(), status.error());
                            }));
}

}  // namespace csi_proxy::sidecars
