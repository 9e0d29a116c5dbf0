// A connection to one pipe of the service that outlives the service's restarts.
#pragma once

#include <grpcpp/channel.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/client_options.h"
#include "server/base/call_context.h"

namespace csi_proxy::client {

// Tells one life of a pipe from the next. Equal for the same pipe of the same running service.
struct PipeIdentity {
  uint64_t device = 0, inode = 0;
  int64_t changed_seconds = 0, changed_nanoseconds = 0;
  friend bool operator==(const PipeIdentity&, const PipeIdentity&) = default;
};

// Looks at the pipe without connecting. NOT_FOUND when there is none.
absl::StatusOr<PipeIdentity> LookAtPipe(const std::string& path);

// Thread-safe.
class RemoteChannel {
 public:
  // For the pipe of one group and version. UNAVAILABLE, naming it, when there is no such pipe, so
  // that callers can fall back to an older version; INVALID_ARGUMENT for a bad CSI_PROXY_MODE;
  // UNIMPLEMENTED for embedded mode.
  static absl::StatusOr<std::shared_ptr<RemoteChannel>> Open(const ClientOptions& options,
                                                             absl::string_view group,
                                                             absl::string_view version);

  // For the pipe at a path, as the simulated node's admin socket.
  static absl::StatusOr<std::shared_ptr<RemoteChannel>> OpenPath(const ClientOptions& options,
                                                                 std::string path);

  // A channel that is connected, to the service as it runs now. Waits for at most the connect
  // timeout, and no longer than the call; then UNAVAILABLE.
  absl::StatusOr<std::shared_ptr<grpc::Channel>> Connected(const CallContext& context);

  const std::string& path() const { return path_; }

 private:
  RemoteChannel(std::string path, absl::Duration connect_timeout)
      : path_(std::move(path)), connect_timeout_(connect_timeout) {}

  // The channel for this life of the pipe; made anew when it is another than before.
  std::shared_ptr<grpc::Channel> ChannelFor(const PipeIdentity& identity);

  const std::string path_;
  const absl::Duration connect_timeout_;
  std::mutex mutex_;
  PipeIdentity identity_;
  std::shared_ptr<grpc::Channel> channel_;
};

// The directory of the sockets: `options`, the environment, or the default.
std::string SocketDirectory(const ClientOptions& options);

}  // namespace csi_proxy::client
