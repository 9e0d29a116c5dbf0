// A released version as a gRPC service.
#pragma once

#include <memory>
#include <string>

#include "absl/types/span.h"
#include "server/rpc/deps.h"
#include "server/rpc/served_version.h"

namespace grpc {
class Service;
}

namespace csi_proxy::rpc {

// A service of one version, to be served on a pipe of its own.
struct VersionedService {
  std::string group;
  std::string version;
  // The name in the rpc's path: `v1.Volume`.
  std::string full_name;
  std::unique_ptr<grpc::Service> service;
};

// Serves `methods` of `api`, the version's Api, on the executor of `deps`. REQUIRES: `deps`
// outlives the service.
std::unique_ptr<grpc::Service> NewGrpcService(absl::Span<const UnaryMethod> methods,
                                              std::shared_ptr<void> api, const Deps* deps);

}  // namespace csi_proxy::rpc
