// gRPC server reflection for a pipe that serves one service.
//
// Written rather than taken from libgrpc++_reflection for two reasons: that one is bound to the
// sync API, which costs threads and a completion queue per server, times 23; and it describes every
// file linked into the process, while a pipe should describe only what it serves.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>

#include <cstddef>
#include <memory>
#include <string>

namespace csi_proxy::rpc {

// The longest request, far longer than any name that a tool asks for. An open stream holds its last
// request, and an answer with a copy of the request, for as long as the client does not read.
inline constexpr size_t kMaxReflectionRequestBytes = 4096;

// Serves versions v1 and v1alpha of the protocol. Lists `full_name` (such as `v1.Volume`), health
// and reflection, and describes the files that define these, with their imports. A longer request
// ends its stream with RESOURCE_EXHAUSTED. REQUIRES: the service `full_name` is linked in.
std::unique_ptr<grpc::Service> NewReflectionService(std::string full_name);

}  // namespace csi_proxy::rpc
