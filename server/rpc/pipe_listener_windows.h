// The connection that the listener of named pipes hands to a server.
#pragma once

#include <utility>

#include "server/rpc/listener.h"
#include "server/rpc/pipe/endpoint.h"

namespace csi_proxy::rpc {

struct ReadyPipe final : ReadyConnection {
  explicit ReadyPipe(pipe::Connection ready) : connection(std::move(ready)) {}
  void Serve(grpc::Server* server) override { pipe::Serve(server, std::move(connection)); }

  pipe::Connection connection;
};

}  // namespace csi_proxy::rpc
