// For tests: TCP sockets, because Wine 8 lacks Unix sockets.
#pragma once

#include "client/grpc/socket.h"
// Must follow winsock2.h.
#include <string>

namespace csi_proxy::pipe {

inline SocketAddress Loopback(uint16_t port = 0) {
  SocketAddress address;
  auto* const name = reinterpret_cast<sockaddr_in*>(&address.storage);
  name->sin_family = AF_INET;
  name->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  name->sin_port = htons(port);
  address.size = sizeof(sockaddr_in);
  return address;
}

// A socket bound to a free port, and its address.
struct BoundSocket {
  Socket socket;
  SocketAddress address;
};
inline BoundSocket BindLoopback() {
  BoundSocket bound{.socket = *Bind(Loopback()), .address = {}};
  bound.address.size = sizeof(bound.address.storage);
  getsockname(bound.socket.get(), reinterpret_cast<sockaddr*>(&bound.address.storage),
              &bound.address.size);
  return bound;
}

// Sends by a blocking call. Returns true if the system takes all bytes.
inline bool SendAll(const Socket& socket, const std::string& bytes) {
  return send(socket.get(), bytes.data(), static_cast<int>(bytes.size()), 0) ==
         static_cast<int>(bytes.size());
}

}  // namespace csi_proxy::pipe
