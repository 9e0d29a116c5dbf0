// A connection to one pipe of the service that survives restarts of the service.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/backends.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/call_options.h"
#include "csi_proxy/connection.h"

namespace csi_proxy::client {

class Link;

// Returns UNAVAILABLE for a service that could not be reached, or whose connection was lost during
// a call. WasNotReached() returns true only for this status, not for the service's own UNAVAILABLE.
absl::Status NotReached(absl::string_view message);
bool WasNotReached(const absl::Status& error);

// Returns NotReached() naming the pipe if it does not exist.
absl::Status CheckPipe(const std::string& path);

// Thread-safe.
class RemoteChannel final : public Channel {
 public:
  // Makes a channel. The pipe need not exist yet.
  RemoteChannel(std::string path, absl::Duration connect_timeout);

  // Opens the channel to the pipe of one version. UNAVAILABLE naming the pipe if it does not exist.
  static absl::StatusOr<std::shared_ptr<RemoteChannel>> Open(const ClientOptions& options,
                                                             absl::string_view group,
                                                             absl::string_view version);

  // Opens the channel to the pipe at `path`, for example the simulated node's admin socket.
  // UNAVAILABLE naming the pipe if it does not exist.
  static absl::StatusOr<std::shared_ptr<RemoteChannel>> OpenPath(const ClientOptions& options,
                                                                 std::string path);

  // Returns a connection to the running service. NotReached() after the connect timeout; the error
  // of context.Check() if the call ends earlier. PERMISSION_DENIED if the pipe does not belong to
  // the service.
  absl::StatusOr<std::shared_ptr<Link>> Connect(const CallContext& context);

  absl::Status Call(const char* method, const CallContext& context,
                    const google::protobuf::Message& request,
                    google::protobuf::Message* response) override;

  ~RemoteChannel() override;

  const std::string& path() const { return path_; }

 private:
  // Makes and keeps the connection: a gRPC channel to a socket, or a channel over a pipe handle.
  class Dialer;

  const std::string path_;
  const absl::Duration connect_timeout_;
  const std::unique_ptr<Dialer> dialer_;
};

}  // namespace csi_proxy::client
