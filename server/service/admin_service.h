// Lets clients administer a simulated machine through a pipe.
#pragma once

#include <memory>

#include "server/rpc/grpc_service.h"
#include "server/simulator/machine.h"

namespace csi_proxy::machine::simulator {

// Returns the service. It shares the ownership of the machine.
std::unique_ptr<rpc::RemoteService> NewAdminService(std::shared_ptr<Machine> node);

}  // namespace csi_proxy::machine::simulator
