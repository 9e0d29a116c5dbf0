// The interface between clients and the modes: each mode's library registers a backend, and a
// connection returns a Channel or an Api for each version.
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/connection.h"
#include "csi_proxy/log_function.h"

namespace csi_proxy::client {

// Carries a version's messages to the node. Thread-safe.
class Channel {
 public:
  virtual ~Channel() = default;

  // Calls `method`, for example `/v1.Volume/MountVolume`, and waits for the answer. Sends a request
  // at most once. Returns the status of the call, of CallContext::Check() if the deadline passes or
  // the caller cancels, or of the connection. Writes `response` only if it returns OK.
  virtual absl::Status Call(const char* method, const CallContext& context,
                            const google::protobuf::Message& request,
                            google::protobuf::Message* response) = 0;
};

// The calls of one version of one group. Exactly one is set: a channel to the node, or the
// version's Api in this process. The connection owns the Api.
struct Opened {
  std::shared_ptr<Channel> channel = nullptr;
  void* api = nullptr;
};

// Returns the Api for clients of the version. `over` makes one from a channel.
template <typename Api>
std::shared_ptr<Api> ApiOf(std::shared_ptr<Connection> connection, absl::string_view group,
                           absl::string_view version,
                           std::unique_ptr<Api> (*over)(std::shared_ptr<Channel>)) {
  Opened opened = connection->Open(group, version);
  if (opened.channel != nullptr) return over(std::move(opened.channel));
  return std::shared_ptr<Api>(std::move(connection), static_cast<Api*>(opened.api));
}

// Remote mode. The library csi_proxy::client registers it.
struct RemoteBackend {
  std::shared_ptr<Connection> (*connect)(const ClientOptions& options);
};

// Embedded mode. The library csi_proxy::embedded registers it.
struct EmbeddedBackend {
  absl::StatusOr<std::shared_ptr<Connection>> (*connect)(const ClientOptions& options);
  // Returns OK if kAuto may choose embedded mode. Otherwise returns the reason against it:
  // FAILED_PRECONDITION in an ordinary container, PERMISSION_DENIED without administrator rights.
  absl::Status (*may_be_chosen)();
};

// Registers a backend and returns the previous one. Called before main(), once per backend. Null
// removes the backend, for tests.
const RemoteBackend* RegisterBackend(const RemoteBackend* backend);
const EmbeddedBackend* RegisterBackend(const EmbeddedBackend* backend);

// Passes a line to the log of `options`, or to standard error if that log is null.
void Log(const ClientOptions& options, Severity severity, const LogText& line);

}  // namespace csi_proxy::client
