#include <cstddef>
#include <limits>

#include "server/http/http_socket.h"

namespace csi_proxy {

void ClaimPort(boost::asio::ip::tcp::acceptor& acceptor, boost::system::error_code& error) {
  // SO_REUSEADDR would let two processes listen on one port
  // (https://learn.microsoft.com/windows/win32/winsock/using-so-reuseaddr-and-so-exclusiveaddruse).
  using Exclusive = boost::asio::detail::socket_option::boolean<SOL_SOCKET, SO_EXCLUSIVEADDRUSE>;
  acceptor.set_option(Exclusive(true), error);
}

void KeepFromChildren(boost::asio::ip::tcp::socket::native_handle_type socket) {
  SetHandleInformation(reinterpret_cast<HANDLE>(static_cast<SOCKET>(socket)), HANDLE_FLAG_INHERIT,
                       0);
}

// Only memory limits the number of sockets in Winsock
// (https://learn.microsoft.com/windows/win32/winsock/maximum-number-of-sockets-supported-2).
size_t DescriptorLimit() { return std::numeric_limits<size_t>::max(); }

}  // namespace csi_proxy
