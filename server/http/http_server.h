// An HTTP server with a few paths, of which Boost.Beast reads the requests and writes the answers.
// It is not civetweb, which has a thread for each connection: a client that opens 16 a second and
// says nothing would keep the kubelet's probe out, and the kubelet would end the driver.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/http/http_answer.h"

namespace csi_proxy {

// `HOST:PORT` or `:PORT`, as Go's net.Listen takes it; `[::1]:PORT` for IPv6.
struct HttpEndpoint {
  // Empty: all addresses.
  std::string host;
  int port = 0;

  // INVALID_ARGUMENT, naming `option`, for anything else.
  static absl::StatusOr<HttpEndpoint> Parse(absl::string_view option, absl::string_view text);
  friend auto operator<=>(const HttpEndpoint&, const HttpEndpoint&) = default;
};
std::string ToString(const HttpEndpoint& endpoint);

// Called by many threads at once.
using HttpHandler = std::function<HttpAnswer()>;

class HttpServer {
 public:
  // Connections at once, and answers that are made at once; each of these takes a thread.
  static constexpr size_t kMaxConnections = 128;
  static constexpr size_t kMaxAnswering = 64;

  // Paths are matched exactly; others are 404. UNAVAILABLE naming the endpoint if it cannot be
  // listened on. There is no authentication and no encryption.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Listen(
      const HttpEndpoint& endpoint, std::map<std::string, HttpHandler, std::less<>> paths);
  // Waits for the answers under way.
  virtual ~HttpServer() = default;

  // The port it listens on; of use if 0 was asked for.
  virtual int port() const = 0;

 protected:
  HttpServer() = default;
};

}  // namespace csi_proxy
