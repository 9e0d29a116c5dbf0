// An HTTP server with a few paths, of which Boost.Beast reads the requests and writes the answers.
// A connection takes no thread, and requests that arrive together share an answer: a client that
// opens many connections, or asks many times, must not keep the kubelet's probe out, or the kubelet
// ends the driver, nor Prometheus from the metrics.
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

// Makes the answer of a path. Calls for one path never overlap; calls of a handler that serves
// several paths may.
using HttpHandler = std::function<HttpAnswer()>;

class HttpServer {
 public:
  // Connections whose request has not arrived yet, or whose answer is on its way. A new connection
  // replaces one of the client that has most.
  static constexpr size_t kMaxConnections = 128;
  // Requests that wait for an answer. None is given up: beyond, connections wait in the system's
  // queue until the next answer.
  static constexpr size_t kMaxWaiting = 1024;

  // Without a host, at all addresses. Paths are matched exactly; others are 404. UNAVAILABLE naming
  // the endpoint if it cannot be listened on. There is no authentication and no encryption.
  // A request has to be there, and then its answer to be taken, within `patience`.
  //
  // A path's handler runs once for all requests that wait for it when it begins. A code of 200 also
  // answers the requests that arrive while it runs, so that no number of requests makes an answer
  // later than it would be without them; after another code those get the next answer, so that a
  // failure is never older than the request.
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
