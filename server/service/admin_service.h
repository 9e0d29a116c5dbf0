// The administrator of a simulated machine, as a service of a pipe.
#pragma once

#include <memory>

#include "server/rpc/grpc_service.h"
#include "server/simulator/machine.h"

namespace csi_proxy::machine::simulator {

// Returns the service, which shares the ownership of the machine.
std::unique_ptr<rpc::RemoteService> NewAdminService(std::shared_ptr<Machine> node);

}  // namespace csi_proxy::machine::simulator
