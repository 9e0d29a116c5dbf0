// A client of HTTP, for tests.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <string>

namespace csi_proxy::http_testing {

// A connection within this machine's loopback.
class HttpConnection {
 public:
  // Both are addresses of the loopback, which has many.
  explicit HttpConnection(int port, const std::string& from = "127.0.0.1",
                          const std::string& to = "127.0.0.1");

  // False: nobody has let it in.
  bool ok() const { return socket_.is_open(); }
  // False: the other side has ended the connection before all was sent.
  bool Send(const std::string& text);
  // Returns all that comes until the other side ends the connection, in order or not.
  std::string ReadAll();

 private:
  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_{io_};
};

struct Answer {
  int code = 0;  // 0: nobody answers
  std::string body;
};

Answer Get(int port, const std::string& path, const char* method = "GET");

}  // namespace csi_proxy::http_testing
