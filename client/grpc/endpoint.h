// gRPC over a connected named pipe or socket. gRPC 1.51 lacks a public API for a stream on Windows,
// so endpoint.cc implements grpc_endpoint of gRPC's core.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/server.h>

#include <functional>
#include <memory>

#include "server/pipe/stream.h"

namespace csi_proxy::pipe {

// Passes the ownership of a connection to a server. gRPC has no deadline for bytes that have not
// arrived, including the preface.
void Serve(grpc::Server* server, Connection connection);

// Functions of a channel. Each is called at most once, on any thread, also within NewChannel() or
// Channel::close(). They must not block and may be null.
struct ChannelEvents {
  // The server's HTTP/2 settings have arrived.
  std::function<void()> answered;
  std::function<void()> closed;
};

// A channel over one connection. Calls fail with UNAVAILABLE after the connection has ended.
struct Channel {
  std::shared_ptr<grpc::Channel> channel;
  // Ends the connection, even if a write does not end. Must be called before the Channel is
  // destroyed.
  std::function<void()> close;
};
// Makes a channel, which is null if gRPC fails. `admits`, if not null, is Connection::admits.
Channel NewChannel(std::unique_ptr<Stream> stream, ChannelEvents events,
                   std::function<bool(absl::string_view bytes)> admits = nullptr);

}  // namespace csi_proxy::pipe
