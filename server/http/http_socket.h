// Options of the HTTP server's sockets that differ between systems.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstddef>

namespace csi_proxy {

// Claims the port: no other process can listen on it at the same time. On POSIX a restarted process
// can listen on it again without a wait. REQUIRES: `acceptor` is not bound.
void ClaimPort(boost::asio::ip::tcp::acceptor& acceptor, boost::system::error_code& error);

// Keeps child processes from inheriting the socket.
void KeepFromChildren(boost::asio::ip::tcp::socket::native_handle_type socket);

// Returns the number of descriptors that this process may have open.
size_t DescriptorLimit();

}  // namespace csi_proxy
