// The modes that are linked into the program, and the calls of a connection in each.
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/connection.h"

namespace csi_proxy::client {

// Carries a version's messages to the node. Thread-safe.
class Channel {
 public:
  virtual ~Channel() = default;

  // Calls `method`, as `/v1.Volume/MountVolume`, and waits. The status is the other side's own,
  // code and text; when the time runs out or the caller cancels, it is that of
  // CallContext::Check(). A request is sent at most once. `response` is written only when OK is
  // returned.
  virtual absl::Status Call(const char* method, const CallContext& context,
                            const google::protobuf::Message& request,
                            google::protobuf::Message* response) = 0;
};

// The calls of one version of one group: a channel that carries them, or the version's Api in this
// process, which the connection owns.
struct Opened {
  std::shared_ptr<Channel> channel = nullptr;
  void* api = nullptr;
};

// The Api that a client of the version calls. `over` makes one over a channel.
template <typename Api>
std::shared_ptr<Api> ApiOf(std::shared_ptr<Connection> connection, absl::string_view group,
                           absl::string_view version,
                           std::unique_ptr<Api> (*over)(std::shared_ptr<Channel>)) {
  Opened opened = connection->Open(group, version);
  if (opened.channel != nullptr) return over(std::move(opened.channel));
  return std::shared_ptr<Api>(std::move(connection), static_cast<Api*>(opened.api));
}

// csi_proxy::client adds this one.
struct RemoteBackend {
  std::shared_ptr<Connection> (*connect)(const ClientOptions& options);
};

// csi_proxy::embedded adds this one.
struct EmbeddedBackend {
  absl::StatusOr<std::shared_ptr<Connection>> (*connect)(const ClientOptions& options);
  // OK when kAuto may embed; else why not. FAILED_PRECONDITION when storage would be managed that
  // is not the node's.
  absl::Status (*may_be_chosen)();
};

// Called by the backends before main(), each once. Null removes the backend, for tests.
const RemoteBackend* RegisterBackend(const RemoteBackend* backend);
const EmbeddedBackend* RegisterBackend(const EmbeddedBackend* backend);

// Hands a line to the log of `options`, or to standard error.
void Log(const ClientOptions& options, Severity severity, absl::string_view line);

}  // namespace csi_proxy::client
