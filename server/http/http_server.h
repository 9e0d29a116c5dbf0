// An HTTP server with a few paths, of which Boost.Beast reads the requests and writes the answers.
// A connection takes no thread: a client that opens many and says nothing must not keep the
// kubelet's probe out, or the kubelet ends the driver, nor Prometheus from the metrics.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/http/host_port.h"

namespace csi_proxy {

struct HttpAnswer {
  int code = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
};

inline HttpAnswer Healthy() { return {.code = 200, .body = "ok"}; }

// Called by many threads at once.
using HttpHandler = std::function<HttpAnswer()>;

class HttpServer {
 public:
  // Connections at once, and answers that are made at once; each of these takes a thread.
  static constexpr size_t kMaxConnections = 128;
  static constexpr size_t kMaxAnswering = 64;

  // Without a host, at all addresses. Paths are matched exactly; others are 404. UNAVAILABLE naming
  // the endpoint if it cannot be listened on. There is no authentication and no encryption.
  // A request has to be there, and then its answer to be taken, within `patience`.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Listen(
      const HostPort& endpoint, std::map<std::string, HttpHandler, std::less<>> paths,
      absl::Duration patience = absl::Seconds(1));
  // Waits for the answers under way.
  virtual ~HttpServer() = default;

  // The port it listens on; of use if 0 was asked for.
  virtual int port() const = 0;

 protected:
  HttpServer() = default;
};

}  // namespace csi_proxy
