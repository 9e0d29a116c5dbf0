// Hands a connected stream to a gRPC server, which is prepared for it.
#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <cstddef>
#include <cstdint>

namespace csi_proxy::transport {

// Bounds what gRPC keeps of connections, where nothing stands before it that does.
void BoundMemory(grpc::ServerBuilder* builder);

// `handle` is as a listener gives it to an AdoptFunction; the server owns it from now on.
void AdoptConnection(grpc::Server* server, intptr_t handle);

// How many threads read connections, and call a server's methods.
size_t ReadingThreads();

}  // namespace csi_proxy::transport
