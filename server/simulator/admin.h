// The admin service of a simulated node, admin.proto over Node.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "server/simulator/machine.h"

namespace csi_proxy::machine::simulated {

inline constexpr char kAdminServiceName[] = "csi_proxy.simulated.Admin";

// The service keeps the machine.
std::unique_ptr<grpc::Service> NewAdminService(const std::shared_ptr<Machine>& node);

}  // namespace csi_proxy::machine::simulated
