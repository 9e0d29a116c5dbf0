// gRPC over a connected named pipe or socket. Written for gRPC 1.51: no public API hands it a
// stream on Windows, so the source file implements core's own grpc_endpoint.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/server.h>

#include <functional>
#include <memory>

#include "server/rpc/pipe/stream.h"

namespace csi_proxy::pipe {

// Hands a connection to a server, which owns it from now on. gRPC has no deadline for what has not
// been received yet, the preface included.
void Serve(grpc::Server* server, Connection connection);

// The channel tells its maker of these, each at most once, on another thread or within the call
// that makes the channel. Neither may block; either may be null.
struct ChannelEvents {
  // The server speaks HTTP/2: its settings have come.
  std::function<void()> answered;
  std::function<void()> closed;
};

// A channel over one connection, which is all it ever has: calls fail with UNAVAILABLE once it has
// ended.
struct Channel {
  std::shared_ptr<grpc::Channel> channel;
  // Ends the connection, also while a write is stuck in it. To be called before it is let go.
  std::function<void()> close;
};
// `watcher`, which may be null, sees what the server sends, in the place of the client.
Channel NewChannel(std::unique_ptr<Stream> stream, ChannelEvents events,
                   std::unique_ptr<Watcher> watcher = nullptr);

// Tells whether this thread runs a completion for gRPC, with gRPC's execution contexts at the
// bottom of its stack.
bool InGrpcCompletion();

// Acknowledgements and the like wait for the end of the completion in which gRPC writes them, since
// an answer may follow. Writes all that wait now: for when a call that a completion makes takes
// long. Thread-safe.
void WriteHeldFrames();

}  // namespace csi_proxy::pipe
