// The sockets of an HTTP server need this of the system, beyond what Asio does.
#pragma once

#include <boost/asio/ip/tcp.hpp>

namespace csi_proxy {

// Before `acceptor` is bound: nobody else may listen on its port meanwhile, and a process that
// starts again may at once.
void ClaimPort(boost::asio::ip::tcp::acceptor& acceptor, boost::system::error_code& error);

// Programs that this process starts do not inherit it.
void KeepFromChildren(boost::asio::ip::tcp::socket::native_handle_type socket);

}  // namespace csi_proxy
