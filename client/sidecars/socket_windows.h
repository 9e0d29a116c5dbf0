// The part of socket_windows.cc for any address. Tests use TCP, because Wine 8 lacks Unix sockets.
#pragma once

#include "client/grpc/socket.h"
// Must follow winsock2.h.
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/sidecars/socket.h"
#include "csi_proxy/steady_time.h"
#include "server/platform/own_file.h"

namespace csi_proxy::sidecars {

// Listens on `bound`. `file` is the socket's file, if it has one, and is removed with the server.
// `service` is not owned and must outlive the server. Errors begin with `what`.
absl::StatusOr<std::unique_ptr<SocketServer>> ListenOn(pipe::Socket bound, int family,
                                                       std::optional<OwnFile> file,
                                                       const std::string& what,
                                                       grpc::Service* service);

absl::StatusOr<std::unique_ptr<SocketChannel>> ConnectTo(const pipe::SocketAddress& address,
                                                         const std::string& what,
                                                         SteadyTime deadline);

// Returns the file of a socket that this process has bound, after limiting access to SYSTEM,
// administrators and this process's user: connecting requires write access to the file
// (https://devblogs.microsoft.com/commandline/af_unix-comes-to-windows/). REQUIRES: the socket does
// not listen yet, so that no other user can have connected.
absl::StatusOr<OwnFile> ProtectSocket(const std::string& path);

}  // namespace csi_proxy::sidecars
