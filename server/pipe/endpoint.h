// gRPC over a connected named pipe. Written for gRPC 1.51: no public API hands it a stream on
// Windows, so the source file implements core's own grpc_endpoint.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/server.h>

#include <functional>
#include <memory>

#include "server/pipe/pipe.h"

namespace csi_proxy::pipe {

// Hands a connection whose preface has been read to a server, which owns it from now on.
void Serve(grpc::Server* server, Connection connection);

// A channel over one connection, which is all it ever has: calls fail with UNAVAILABLE once it has
// ended. `closed` is called then, on another thread; it must not block.
std::shared_ptr<grpc::Channel> NewChannel(std::unique_ptr<Stream> stream,
                                          std::function<void()> closed);

// Whether this thread runs a completion for gRPC, with gRPC's execution contexts at the bottom of
// its stack.
bool InGrpcCompletion();

}  // namespace csi_proxy::pipe
