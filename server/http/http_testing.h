// An HTTP client, and a server of arbitrary bytes, for tests.
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

// A TCP connection over loopback.
class HttpConnection {
 public:
  // Connects from the address `from` to `port` of the address `to`. Both are loopback addresses.
  explicit HttpConnection(int port, const std::string& from = "127.0.0.1",
                          const std::string& to = "127.0.0.1");

  // Returns false if the connection failed.
  bool ok() const { return socket_.is_open(); }
  // Sends `text`. Returns false if the peer closed before all was sent.
  bool Send(const std::string& text);
  // Returns all bytes until the peer closes or resets the connection.
  std::string ReadAll();

 private:
  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_{io_};
};

struct Answer {
  int code = 0;  // 0 if there was no answer
  std::string body;
};

Answer Get(int port, const std::string& path, const char* method = "GET");

// A server that answers each request with the next of its texts, and further requests with the last
// text. The texts need not be HTTP.
class RawServer {
 public:
  struct Options {
    // Keeps the connection open after the answer.
    bool stays = false;
    // The pause before each byte. If it is zero, an answer is sent as a whole.
    std::chrono::milliseconds pause{0};
  };
  explicit RawServer(std::string answer) : RawServer(std::move(answer), Options()) {}
  RawServer(std::string answer, Options options)
      : RawServer(std::vector<std::string>{std::move(answer)}, options) {}
  explicit RawServer(std::vector<std::string> answers) : RawServer(std::move(answers), Options()) {}
  RawServer(std::vector<std::string> answers, Options options);
  ~RawServer();

  HostPort address() const { return {"127.0.0.1", acceptor_.local_endpoint().port()}; }
  // Returns the heads of the requests so far. A request is recorded before it is answered.
  std::vector<std::string> requests() const;

 private:
  struct Asker;

  void Accept();
  void Read(const std::shared_ptr<Asker>& asker);
  void Write(const std::shared_ptr<Asker>& asker);

  const std::vector<std::string> answers_;
  const Options options_;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;  // guarded by mutex_
  boost::asio::io_context io_{1};
  boost::asio::ip::tcp::acceptor acceptor_;
  std::vector<std::shared_ptr<Asker>> staying_;
  std::thread thread_;
};

}  // namespace csi_proxy::http_testing
