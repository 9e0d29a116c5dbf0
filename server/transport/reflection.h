// gRPC server reflection for a pipe that serves one service.
//
// Written rather than taken from libgrpc++_reflection for two reasons: that one is bound to the
// sync API, which costs threads and a completion queue per server, times 23; and it describes every
// file linked into the process, while a pipe should describe only its own service.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>

#include <memory>
#include <string>

namespace csi_proxy::transport {

// Lists `full_name` (as `v1.Volume`, which must be linked in) with health and reflection, and
// describes the file it is defined in and what that file imports.
std::unique_ptr<grpc::Service> NewReflectionService(std::string full_name);

}  // namespace csi_proxy::transport
