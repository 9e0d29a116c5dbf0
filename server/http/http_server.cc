#include "server/http/http_server.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdint>
#include <exception>
#include <limits>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/base/status_macros.h"
#include "server/http/http_socket.h"

namespace csi_proxy {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr size_t kMaxRequestHeadBytes = 16 * 1024;
// The pause while the system is short of descriptors or memory.
constexpr std::chrono::milliseconds kPauseInShortage(100);

// The path alone, as Go's servers match it.
std::string PathOf(beast::string_view target) {
  return std::string(target.substr(0, target.find_first_of("?#")));
}

// Tells whether the error is about the bytes that were sent, and not about the connection.
bool IsMalformed(error_code error) {
  return error.category() == make_error_code(http::error::bad_target).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

class Server;

// The connection of a client that asks one thing.
class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  // In the order in which connections are given up; kDone has its answer and has not left yet.
  enum class State { kDone, kReading, kWriting, kWaiting, kAnswering };

  Connection(Server* server, tcp::socket socket, asio::ip::address from,
             std::chrono::nanoseconds patience)
      : client(std::move(from)), server_(*server), patience_(patience), stream_(std::move(socket)) {
    parser_.header_limit(kMaxRequestHeadBytes);
    parser_.body_limit(std::numeric_limits<uint64_t>::max());  // nobody reads it
  }

  void Read();
  void Write(const HttpAnswer& answer);
  void Close() { stream_.close(); }

  const asio::ip::address client;
  State state = State::kReading;
  const HttpHandler* handler = nullptr;  // of the requested path
  std::thread answering;

 private:
  void HasRead(error_code error);
  // Takes what comes after the request until the client leaves: with it unread the connection would
  // be reset, and the client might lose the answer (RFC 9112, section 9.6).
  void Drain();

  Server& server_;
  const std::chrono::nanoseconds patience_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{kMaxRequestHeadBytes};
  http::request_parser<http::empty_body> parser_;
  http::response<http::string_body> answer_;
};

// One thread does everything but to make answers, which may block. All but port() is its.
class Server final : public HttpServer {
 public:
  Server(std::map<std::string, HttpHandler, std::less<>> paths, std::chrono::nanoseconds patience)
      : paths_(std::move(paths)), patience_(patience) {}

  ~Server() override {
    if (!thread_.joinable()) return;  // it has not begun
    asio::post(io_, [this] { Stop(); });
    thread_.join();
  }

  absl::Status Start(const HostPort& endpoint);
  int port() const override { return port_; }

  // Null: there is nothing at this path.
  const HttpHandler* Find(const std::string& path) const {
    const auto found = paths_.find(path);
    return found == paths_.end() ? nullptr : &found->second;
  }
  // Has waiting requests answered, as many as can be.
  void AnswerWaiting();
  void Drop(const std::shared_ptr<Connection>& connection) {
    connection->Close();
    std::erase(connections_, connection);
  }

 private:
  absl::Status Listen(const tcp::endpoint& endpoint);
  void Accept();
  void MakeRoom();
  void Answer(const std::shared_ptr<Connection>& connection);
  void Stop();

  const std::map<std::string, HttpHandler, std::less<>> paths_;
  const std::chrono::nanoseconds patience_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_{io_};
  asio::steady_timer pause_{io_};
  std::vector<std::shared_ptr<Connection>> connections_;  // the oldest first
  int port_ = 0;
  std::thread thread_;
};

void Connection::Read() {
  stream_.expires_after(patience_);
  http::async_read_header(
      stream_, buffer_, parser_,
      [self = shared_from_this()](error_code error, size_t) { self->HasRead(error); });
}

void Connection::HasRead(error_code error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return Write({.code = 431, .body = "431 Request Header Fields Too Large\n"});
  }
  if (IsMalformed(error)) return Write({.code = 400, .body = "400 Bad Request\n"});
  if (error) return server_.Drop(shared_from_this());
  handler = server_.Find(PathOf(parser_.get().target()));
  if (handler == nullptr) return Write({.code = 404, .body = "404 page not found\n"});
  state = State::kWaiting;
  server_.AnswerWaiting();
}

void Connection::Write(const HttpAnswer& answer) {
  state = State::kWriting;
  answer_.result(static_cast<unsigned>(answer.code));
  answer_.set(http::field::date,
              absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", absl::Now(), absl::UTCTimeZone()));
  answer_.set(http::field::content_type, answer.content_type);
  answer_.set("X-Content-Type-Options", "nosniff");
  answer_.content_length(answer.body.size());
  answer_.keep_alive(false);
  if (parser_.get().method() != http::verb::head) answer_.body() = answer.body;
  stream_.expires_after(patience_);
  http::async_write(stream_, answer_, [self = shared_from_this()](error_code error, size_t) {
    if (error) return self->server_.Drop(self);
    self->state = State::kDone;
    error_code ignored;  // the client may have left
    self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    self->Drain();
  });
}

void Connection::Drain() {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(4096),
                          [self = shared_from_this()](error_code error, size_t) {
                            if (error) return self->server_.Drop(self);
                            self->Drain();
                          });
}

absl::Status Server::Start(const HostPort& endpoint) {
  const auto port = static_cast<uint16_t>(endpoint.port);
  absl::Status status;
  if (endpoint.host.empty()) {
    // The former takes IPv4 as well, but a system may be without IPv6.
    status = Listen({tcp::v6(), port});
    if (!status.ok()) status = Listen({tcp::v4(), port});
  } else {
    error_code error;
    const auto found =
        tcp::resolver(io_).resolve(endpoint.host, absl::StrCat(port),
                                   tcp::resolver::passive | tcp::resolver::numeric_service, error);
    status = error ? absl::UnavailableError(error.message()) : Listen(found.begin()->endpoint());
  }
  if (!status.ok()) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", ToString(endpoint), ": ", status.message()));
  }
  Accept();
  thread_ = std::thread([this] { io_.run(); });
  return absl::OkStatus();
}

absl::Status Server::Listen(const tcp::endpoint& endpoint) {
  error_code error;
  const auto failure = [&](const char* what) {
    error_code ignored;
    acceptor_.close(ignored);
    return absl::UnavailableError(absl::StrCat(what, ": ", error.message()));
  };
  acceptor_.open(endpoint.protocol(), error);
  if (error) return failure("socket");
  KeepFromChildren(acceptor_.native_handle());
  ClaimPort(acceptor_, error);
  if (error) return failure("its port");
  if (endpoint.address().is_v6()) {
    acceptor_.set_option(asio::ip::v6_only(!endpoint.address().is_unspecified()), error);
    if (error) return failure("IPv6");
  }
  acceptor_.bind(endpoint, error);
  if (error) return failure("bind");
  acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) return failure("listen");
  port_ = acceptor_.local_endpoint().port();
  return absl::OkStatus();
}

void Server::Accept() {
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    if (!acceptor_.is_open()) return;
    if (error) {
      pause_.expires_after(kPauseInShortage);
      pause_.async_wait([this](error_code cancelled) {
        if (!cancelled) Accept();
      });
      return;
    }
    KeepFromChildren(socket.native_handle());
    const tcp::endpoint client = socket.remote_endpoint(error);
    if (!error) {  // it has not left yet
      if (connections_.size() >= kMaxConnections) MakeRoom();
      connections_.push_back(
          std::make_shared<Connection>(this, std::move(socket), client.address(), patience_));
      connections_.back()->Read();
    }
    Accept();
  });
}

// The client with most connections gives one up.
void Server::MakeRoom() {
  std::map<asio::ip::address, int> held;
  for (const auto& connection : connections_) ++held[connection->client];
  const auto rank = [&held](const std::shared_ptr<Connection>& connection) {
    return std::tuple(connection->state == Connection::State::kAnswering, -held[connection->client],
                      connection->state);
  };
  static_assert(kMaxAnswering < kMaxConnections);
  Drop(*std::ranges::min_element(connections_, {}, rank));
}

// The client with the fewest requests in answer is next, so that no client can keep the others
// waiting.
void Server::AnswerWaiting() {
  std::map<asio::ip::address, int> answering;
  size_t all = 0;
  for (const auto& connection : connections_) {
    if (connection->state != Connection::State::kAnswering) continue;
    ++answering[connection->client];
    ++all;
  }
  for (; all < kMaxAnswering; ++all) {
    const auto rank = [&answering](const std::shared_ptr<Connection>& connection) {
      return std::pair(connection->state != Connection::State::kWaiting,
                       answering[connection->client]);
    };
    const auto next = std::ranges::min_element(connections_, {}, rank);
    if (next == connections_.end() || (*next)->state != Connection::State::kWaiting) return;
    ++answering[(*next)->client];
    Answer(*next);
  }
}

void Server::Answer(const std::shared_ptr<Connection>& connection) {
  connection->state = Connection::State::kAnswering;
  try {
    // `work` keeps the server's thread, which may have nothing else to wait for.
    connection->answering = std::thread([this, connection, work = asio::make_work_guard(io_)] {
      HttpAnswer answer = (*connection->handler)();
      asio::post(io_, [this, connection, answer = std::move(answer)] {
        connection->answering.join();
        connection->Write(answer);
        AnswerWaiting();
      });
    });
  } catch (const std::system_error& error) {
    connection->Write({.code = 503, .body = absl::StrCat("no thread: ", error.what(), "\n")});
  }
}

void Server::Stop() {
  acceptor_.close();
  pause_.cancel();
  // Answers under way are still given.
  std::erase_if(connections_, [](const std::shared_ptr<Connection>& connection) {
    const bool stays = connection->state == Connection::State::kAnswering ||
                       connection->state == Connection::State::kWriting;
    if (!stays) connection->Close();
    return !stays;
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Listen(
    const HostPort& endpoint, std::map<std::string, HttpHandler, std::less<>> paths,
    absl::Duration patience) {
  // Asio throws when the system is short of what it begins with, and so does a thread.
  try {
    auto server = std::make_unique<Server>(std::move(paths), absl::ToChronoNanoseconds(patience));
    ABSL_RETURN_IF_ERROR(server->Start(endpoint));
    return server;
  } catch (const std::exception& error) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", ToString(endpoint), ": ", error.what()));
  }
}

}  // namespace csi_proxy
