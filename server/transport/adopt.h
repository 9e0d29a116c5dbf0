// Hands a connected stream to a gRPC server.
#pragma once

#include <grpcpp/server.h>

#include <cstddef>
#include <cstdint>

namespace csi_proxy::transport {

// `handle` is as a listener gives it to an AdoptFunction; the server owns it from now on.
void AdoptConnection(grpc::Server* server, intptr_t handle);

// How many threads read connections, and call a server's methods.
size_t ReadingThreads();

}  // namespace csi_proxy::transport
