// gRPC over a connected named pipe or socket. gRPC 1.51 has no public API for a stream on Windows,
// so the source file implements its core's grpc_endpoint.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/server.h>

#include <functional>
#include <memory>

#include "server/pipe/stream.h"

namespace csi_proxy::pipe {

// Passes a connection to a server, which then owns it. gRPC has no deadline for bytes that it has
// not received yet, including the preface.
void Serve(grpc::Server* server, Connection connection);

// Functions that a channel calls, each at most once, on another thread or within NewChannel(). They
// must not block and may be null.
struct ChannelEvents {
  // The server's HTTP/2 settings have arrived.
  std::function<void()> answered;
  std::function<void()> closed;
};

// A channel over one connection. Calls fail with UNAVAILABLE once that has ended.
struct Channel {
  std::shared_ptr<grpc::Channel> channel;
  // Ends the connection, even if a write is stuck in it. Must be called before destruction.
  std::function<void()> close;
};
// Makes a channel. `watcher`, which may be null, gets what the server sends by Read().
Channel NewChannel(std::unique_ptr<Stream> stream, ChannelEvents events,
                   std::unique_ptr<Watcher> watcher = nullptr);

}  // namespace csi_proxy::pipe
