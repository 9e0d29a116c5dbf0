// An HTTP server with a few paths, over Boost.Beast. A client with many connections or requests
// must keep out neither Prometheus nor the kubelet's probe, because the kubelet kills a driver that
// its probe does not reach: connections use no threads, and concurrent requests share an answer.
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

// Makes the answer of a path. Calls for one path never overlap; if a handler serves several paths,
// calls for different paths may overlap.
using HttpHandler = std::function<HttpAnswer()>;

struct HttpLimits {
  // The maximum number of connections that are sending a request, or getting or have got an
  // answer. At the limit, a new connection replaces one of the client that has the most of these.
  size_t connections = 128;
  // While this many requests or more wait for an answer, the server accepts at most one connection
  // more: others stay in the system's queue until the next answer. Waiting requests are never
  // dropped.
  size_t waiting = 1024;

  // Returns the limits of a server in a process that may open `descriptors`. The server then uses
  // about an eighth of the descriptors, so that three servers in one process use at most half: gRPC
  // aborts the process when it gets no descriptor.
  static HttpLimits For(size_t descriptors);
};

class HttpServer {
 public:
  // Listens on `endpoint`, or on all addresses if `endpoint` has no host. Paths match exactly; any
  // other path gets 404. The limits follow from the descriptors that the process may open at the
  // time of this call. There is no authentication or encryption. A client has `patience` to send a
  // request, and `patience` again to take the answer and close the connection. Returns UNAVAILABLE,
  // naming the endpoint, if listening fails.
  //
  // One run of a handler answers all requests that waited for its path when the run began. If it
  // returns code 200, it also answers the requests that arrived during the run, so that many
  // requests do not delay answers. After any other code these late requests wait for the next run,
  // so that no request gets a failure from before its arrival.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Listen(
      const HostPort& endpoint, std::map<std::string, HttpHandler, std::less<>> paths,
      absl::Duration patience = absl::Seconds(1));
  // Closes the connections without a complete request, and waits until all other requests are
  // answered; late requests get the answer of the current run, whatever its code.
  virtual ~HttpServer() = default;

  // Returns the port; the system chose it if 0 was given.
  virtual int port() const = 0;

 protected:
  HttpServer() = default;
};

}  // namespace csi_proxy
