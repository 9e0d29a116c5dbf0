// The connection that the listener of Unix sockets hands to a server.
#pragma once

#include <utility>

#include "server/rpc/listener.h"
#include "server/rpc/socket_directory_posix.h"

namespace csi_proxy::rpc {

// A socket whose preface has not been read.
struct ReadySocket final : ReadyConnection {
  explicit ReadySocket(UniqueFd connected) : socket(std::move(connected)) {}
  void Serve(grpc::Server* server) override;

  UniqueFd socket;
};

}  // namespace csi_proxy::rpc
