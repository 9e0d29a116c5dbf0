// The work of socket_windows.cc once it knows the address: tests use TCP's, for lack of Unix
// sockets under Wine.
#pragma once

#include "server/rpc/pipe/socket.h"
// After winsock2.h.
#include <memory>
#include <optional>
#include <string>

#include "client/sidecars/socket.h"
#include "client/sidecars/socket_file_windows.h"

namespace csi_proxy::sidecars {

// Listens. `file` is the socket's, if it has one, and is removed with the server. `what` is named
// in errors.
absl::StatusOr<std::unique_ptr<SocketServer>> ListenOn(pipe::Socket bound, int family,
                                                       std::optional<OwnFile> file,
                                                       const std::string& what,
                                                       grpc::Service* service);

absl::StatusOr<std::unique_ptr<SocketChannel>> ConnectTo(const pipe::SocketAddress& address,
                                                         const std::string& what,
                                                         absl::Time deadline);

}  // namespace csi_proxy::sidecars
