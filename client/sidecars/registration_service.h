// The kubelet's plugin registration service, which a plugin serves and the kubelet calls
// (https://github.com/kubernetes/kubernetes/tree/v1.37.2/pkg/kubelet/pluginmanager/pluginwatcher).
#pragma once

#include <grpcpp/impl/codegen/service_type.h>

#include <functional>
#include <string>

namespace csi_proxy::sidecars {

// The metadata of a GetInfo by which a registrar looks after its own health: not the kubelet's.
inline constexpr char kHealthMetadata[] = "csi-registration-health";

class RegistrationService final : public grpc::Service {
 public:
  // The service tells the kubelet the driver's name, and where it finds the driver, and calls
  // `asked` each time. `notify` is told whether it has accepted the driver, with the reason if not.
  // Neither must block.
  RegistrationService(std::string driver_name, std::string endpoint, std::function<void()> asked,
                      std::function<void(bool accepted, const std::string& reason)> notify);
};

}  // namespace csi_proxy::sidecars
