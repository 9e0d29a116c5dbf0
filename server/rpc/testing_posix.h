// Raw Unix sockets for tests.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "server/base/testing_posix.h"
#include "server/rpc/socket_directory_posix.h"

namespace csi_proxy::rpc {

// Returns a new socket if `function` (bind or connect) succeeds, else an invalid descriptor.
inline UniqueFd UnixSocket(const std::string& path,
                           int (*function)(int, const sockaddr*, socklen_t)) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  if (function(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return UniqueFd();
  }
  return fd;
}

// Returns a connected socket, or an invalid descriptor if no server listens.
inline UniqueFd ConnectUnix(const std::string& path) { return UnixSocket(path, connect); }

// Returns a listening socket, or an invalid descriptor if the path exists.
inline UniqueFd ListenUnix(const std::string& path) {
  UniqueFd fd = UnixSocket(path, bind);
  listen(fd.get(), 10);
  return fd;
}

// Returns true if the other side closes the connection before it has been silent for `seconds`.
// Appends the received bytes to `*received` if it is not null.
inline bool ClosedWithin(int fd, int seconds, std::string* received = nullptr) {
  timeval timeout{.tv_sec = seconds, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  char bytes[256];
  ssize_t n;
  while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0) {
    if (received != nullptr) received->append(bytes, static_cast<size_t>(n));
  }
  return n == 0 || (n < 0 && errno == ECONNRESET);
}

}  // namespace csi_proxy::rpc
