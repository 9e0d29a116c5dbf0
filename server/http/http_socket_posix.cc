#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <limits>

#include "server/http/http_socket.h"

namespace csi_proxy {

void ClaimPort(boost::asio::ip::tcp::acceptor& acceptor, boost::system::error_code& error) {
  // Allows the address of a closed socket, but not the address of a listening socket
  // (https://man7.org/linux/man-pages/man7/socket.7.html).
  acceptor.set_option(boost::asio::socket_base::reuse_address(true), error);
}

void KeepFromChildren(int socket) { fcntl(socket, F_SETFD, FD_CLOEXEC); }

size_t DescriptorLimit() {
  rlimit limit;
  // POSIX guarantees at least 20 descriptors (_POSIX_OPEN_MAX).
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 20;
  return std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<size_t>::max());
}

}  // namespace csi_proxy
