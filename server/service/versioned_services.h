// Serves the handlers over gRPC.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/groups/node_services.h"
#include "server/rpc/deps.h"
#include "server/rpc/grpc_service.h"

namespace csi_proxy {

// A service on a pipe of its own, beside the released versions.
struct ExtraService {
  std::string pipe_name;
  // The name in the rpc's path.
  std::string full_name;
  std::unique_ptr<grpc::Service> service;
};

// Services for every released version over the handlers of all groups. Each group has its own
// threads, so that a pod that floods one pipe does not starve other groups.
class VersionedServices {
 public:
  // Gives each group `shared`, with an executor of its own. `handlers` are not owned and must
  // outlive the services.
  VersionedServices(const rpc::Executor::Limits& limits, const rpc::Deps& shared,
                    const groups::NodeServices& handlers);
  ~VersionedServices();

  // Returns a service per group and version, in that order. They must not outlive this.
  std::vector<rpc::VersionedService> NewServices();

  // Returns the number of waiting calls of each group. Thread-safe.
  std::vector<std::pair<std::string, size_t>> Queued() const;

 private:
  struct Group;
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace csi_proxy
