// A client of HTTP, and a server of anything, for tests.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/http/host_port.h"

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

// Answers each request with the same bytes, which need not be HTTP.
class RawServer {
 public:
  struct Options {
    // Keeps the connection after the answer.
    bool stays = false;
    // Sends a byte after each such time; all at once if it is zero.
    std::chrono::milliseconds pause{0};
  };
  explicit RawServer(std::string answer) : RawServer(std::move(answer), Options()) {}
  RawServer(std::string answer, Options options);
  ~RawServer();

  HostPort address() const { return {"127.0.0.1", acceptor_.local_endpoint().port()}; }
  // The heads of the requests so far, each noted before it is answered.
  std::vector<std::string> requests() const;

 private:
  struct Asker;

  void Accept();
  void Read(const std::shared_ptr<Asker>& asker);
  void Write(const std::shared_ptr<Asker>& asker);

  const std::string answer_;
  const Options options_;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;  // guarded by mutex_
  boost::asio::io_context io_{1};
  boost::asio::ip::tcp::acceptor acceptor_;
  std::vector<std::shared_ptr<Asker>> staying_;
  std::thread thread_;
};

}  // namespace csi_proxy::http_testing
