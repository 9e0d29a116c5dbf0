// Serves the handlers to remote clients.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/groups/node_services.h"
#include "server/node/node_calls.h"
#include "server/rpc/grpc_service.h"

namespace csi_proxy {

// A service on a pipe of its own, beside the released versions.
struct ExtraService {
  std::string pipe_name;
  // The name in the rpc's path.
  std::string full_name;
  std::unique_ptr<rpc::RemoteService> service;
};

// Returns a service for each group and version, in that order, over `handlers`, which are not
// owned. REQUIRES: `handlers` and `calls` outlive the services.
std::vector<rpc::VersionedService> NewVersionedServices(const groups::NodeServices& handlers,
                                                        const NodeCalls& calls);

}  // namespace csi_proxy
