#include "server/http/http_server.h"

#include <algorithm>
#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/base/status_macros.h"
#include "server/http/eviction_order.h"
#include "server/http/http_socket.h"

namespace csi_proxy {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr size_t kMaxRequestHeadBytes = 16 * 1024;
// How long the server waits after a failed accept before it accepts again. An accept fails when the
// system lacks descriptors or memory.
constexpr std::chrono::milliseconds kPauseInShortage(100);

// Returns the path without query and fragment, as Go's servers match it.
std::string PathOf(beast::string_view target) {
  return std::string(target.substr(0, target.find_first_of("?#")));
}

// Returns true if the error is about the bytes received, not about the connection.
bool IsMalformed(error_code error) {
  return error.category() == make_error_code(http::error::bad_target).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

class Connection;
class Server;

// An answer in wire format, shared by all requests that wait for it.
struct Message {
  explicit Message(HttpAnswer answer)
      : head(absl::StrCat(
            "HTTP/1.1 ", answer.code, " ",
            std::string(http::obsolete_reason(static_cast<http::status>(answer.code))),
            absl::FormatTime("\r\nDate: %a, %d %b %Y %H:%M:%S GMT", absl::Now(),
                             absl::UTCTimeZone()),
            "\r\nContent-Type: ", answer.content_type, "\r\nX-Content-Type-Options: nosniff",
            "\r\nConnection: close\r\nContent-Length: ", answer.body.size(), "\r\n\r\n")),
        body(std::move(answer.body)),
        healthy(answer.code == 200) {}

  const std::string head, body;
  const bool healthy;
};

// A path of the server. `thread` is joinable while an answer is being made.
struct Path {
  HttpHandler make;
  uint64_t begun = 0;  // answers so far, including the current one
  std::thread thread;
  std::vector<std::shared_ptr<Connection>> waiting;  // the oldest first
};

// A client's connection for one request. The pending operation owns the connection. While the
// request waits for an answer, its Path owns the connection.
class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  // The states of a connection. Only connections in the first three states are closed to make room,
  // in this order. In kDone the answer is sent, but the client has not left.
  enum State { kDone, kReading, kWriting, kWaiting, kClosed };

  Connection(Server* server, tcp::socket socket, asio::ip::address from, uint64_t which,
             std::chrono::nanoseconds patience)
      : client(std::move(from)),
        number(which),
        server_(*server),
        patience_(patience),
        stream_(std::move(socket)) {
    request_->header_limit(kMaxRequestHeadBytes);
    request_->body_limit(std::numeric_limits<uint64_t>::max());  // bodies are not read
  }

  void Read();
  void Write(std::shared_ptr<const Message> answer);
  void Close() { stream_.close(); }

  const asio::ip::address client;
  const uint64_t number;      // the number of connections before this one
  State state = kWaiting;     // set by Server::Enter() only
  Path* path = nullptr;       // the requested path
  uint64_t begun_before = 0;  // path->begun when the request arrived

 private:
  void HasRead(error_code error);
  // Reads and drops what follows the request until the client leaves or its time ends: closing a
  // connection with unread bytes resets it, and the client may lose the answer (RFC 9112, 9.6).
  void Drain();

  Server& server_;
  const std::chrono::nanoseconds patience_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{kMaxRequestHeadBytes};
  // Reset when the request begins to wait for an answer.
  std::optional<http::request_parser<http::empty_body>> request_{std::in_place};
  bool head_alone_ = false;
  std::shared_ptr<const Message> answer_;
};

// After Start(), one thread does all work except port() and the handlers. Each handler runs on a
// thread of its own, because a handler may block.
class Server final : public HttpServer {
 public:
  Server(std::map<std::string, HttpHandler, std::less<>> paths, std::chrono::nanoseconds patience)
      : patience_(patience) {
    for (auto& [path, handler] : paths) paths_[path].make = std::move(handler);
  }

  ~Server() override {
    if (!thread_.joinable()) return;  // Start() failed
    asio::post(io_, [this] { Stop(); });
    thread_.join();
  }

  absl::Status Start(const HostPort& endpoint);
  int port() const override { return port_; }

  // Returns null if the path is unknown.
  Path* Find(const std::string& path) {
    const auto found = paths_.find(path);
    return found == paths_.end() ? nullptr : &found->second;
  }
  // Starts to make an answer. REQUIRES: no answer of `path` is being made.
  void Make(Path* path);
  // Changes the state, unless the connection is closed.
  void Enter(Connection* connection, Connection::State state);
  // A buffer for the bytes after a request, which are dropped.
  std::array<char, 4096> drained;

  void Drop(Connection* connection) {
    Enter(connection, Connection::kClosed);
    connection->Close();
  }

 private:
  absl::Status Listen(const tcp::endpoint& endpoint);
  void Accept();
  void Answer(Path* path, const std::shared_ptr<const Message>& answer);
  void Stop();

  std::map<std::string, Path, std::less<>> paths_;
  const std::chrono::nanoseconds patience_;
  const HttpLimits limits_ = HttpLimits::For(DescriptorLimit());
  asio::io_context io_{1};
  tcp::acceptor acceptor_{io_};
  asio::steady_timer pause_{io_};
  uint64_t accepted_ = 0;
  // The connections that may be closed to make room: all that are neither waiting nor closed.
  EvictionOrder<asio::ip::address, Connection> closable_;
  bool full_ = false;  // accepting waits until requests have been answered
  int port_ = 0;
  std::thread thread_;
};

void Connection::Read() {
  server_.Enter(this, kReading);
  stream_.expires_after(patience_);
  http::async_read_header(
      stream_, buffer_, *request_,
      [self = shared_from_this()](error_code error, size_t) { self->HasRead(error); });
}

void Connection::HasRead(error_code error) {
  if (state == kClosed) return;  // closed after the request arrived
  const auto refuse = [this](int code, const char* why) {
    Write(std::make_shared<const Message>(HttpAnswer{.code = code, .body = why}));
  };
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return refuse(431, "431 Request Header Fields Too Large\n");
  }
  if (IsMalformed(error)) return refuse(400, "400 Bad Request\n");
  if (error) return server_.Drop(this);
  head_alone_ = request_->get().method() == http::verb::head;
  path = server_.Find(PathOf(request_->get().target()));
  if (path == nullptr) return refuse(404, "404 page not found\n");
  // Frees the memory that only reading needs, because a thousand requests may wait.
  request_.reset();
  buffer_.clear();
  buffer_.shrink_to_fit();
  stream_.expires_never();
  server_.Enter(this, kWaiting);
  path->waiting.push_back(shared_from_this());
  begun_before = path->begun;
  if (!path->thread.joinable()) server_.Make(path);
}

void Connection::Write(std::shared_ptr<const Message> answer) {
  server_.Enter(this, kWriting);
  answer_ = std::move(answer);
  stream_.expires_after(patience_);
  const std::array<asio::const_buffer, 2> text = {
      asio::buffer(answer_->head), asio::buffer(head_alone_ ? std::string_view() : answer_->body)};
  asio::async_write(stream_, text, [self = shared_from_this()](error_code error, size_t) {
    if (error) return self->server_.Drop(self.get());
    self->server_.Enter(self.get(), kDone);
    self->answer_.reset();
    error_code ignored;  // the client may have left
    self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    self->Drain();
  });
}

void Connection::Drain() {
  stream_.async_read_some(asio::buffer(server_.drained),
                          [self = shared_from_this()](error_code error, size_t) {
                            if (error) return self->server_.Drop(self.get());
                            self->Drain();
                          });
}

absl::Status Server::Start(const HostPort& endpoint) {
  const auto port = static_cast<uint16_t>(endpoint.port);
  absl::Status status;
  if (endpoint.host.empty()) {
    // IPv6's wildcard accepts IPv4 too, but the system may lack IPv6.
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
  size_t waiting = 0;
  for (const auto& [name, path] : paths_) waiting += path.waiting.size();
  full_ = waiting >= limits_.waiting;
  if (full_) return;
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
    if (!error) {  // the client has not left
      if (closable_.size() >= limits_.connections) Drop(closable_.First());
      std::make_shared<Connection>(this, std::move(socket), client.address(), accepted_++,
                                   patience_)
          ->Read();
    }
    Accept();
  });
}

void Server::Enter(Connection* connection, Connection::State state) {
  const asio::ip::address& client = connection->client;
  Connection::State& current = connection->state;
  if (current == Connection::kClosed) return;
  if (current < Connection::kWaiting) closable_.Remove(client, current, connection->number);
  current = state;
  if (state < Connection::kWaiting) closable_.Add(client, state, connection->number, connection);
}

void Server::Make(Path* path) {
  ++path->begun;
  try {
    // `work` keeps io_ running until the answer is posted.
    path->thread = std::thread([this, path, work = asio::make_work_guard(io_)] {
      asio::post(io_, [this, path, answer = std::make_shared<const Message>(path->make())] {
        path->thread.join();
        Answer(path, answer);
      });
    });
  } catch (const std::system_error& error) {
    Answer(path, std::make_shared<const Message>(HttpAnswer{
                     .code = 503, .body = absl::StrCat("no thread: ", error.what(), "\n")}));
  }
}

void Server::Answer(Path* path, const std::shared_ptr<const Message>& answer) {
  const bool for_all = answer->healthy || !acceptor_.is_open();
  for (auto& connection : std::exchange(path->waiting, {})) {
    if (for_all || connection->begun_before < path->begun) {
      connection->Write(answer);
    } else {
      path->waiting.push_back(std::move(connection));
    }
  }
  if (!path->waiting.empty()) Make(path);
  if (full_) Accept();
}

void Server::Stop() {
  acceptor_.close();
  pause_.cancel();
  // Connections that are sending an answer may finish.
  for (Connection* const connection : closable_.All()) {
    if (connection->state != Connection::kWriting) Drop(connection);
  }
}

}  // namespace

HttpLimits HttpLimits::For(size_t descriptors) {
  const HttpLimits most;
  const size_t share = descriptors / 8;
  return {.connections = std::clamp<size_t>(share / 4, 1, most.connections),
          .waiting = std::clamp<size_t>(share / 4 * 3, 1, most.waiting)};
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Listen(
    const HostPort& endpoint, std::map<std::string, HttpHandler, std::less<>> paths,
    absl::Duration patience) {
  // Asio and std::thread throw if the system lacks resources.
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
