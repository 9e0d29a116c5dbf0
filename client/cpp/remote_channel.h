// A connection to one pipe of the service that outlives the service's restarts.
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

// UNAVAILABLE, naming the pipe, when it is not there.
absl::Status CheckPipe(const std::string& path);

// Thread-safe.
class RemoteChannel final : public Channel {
 public:
  // For a pipe that may yet have to come.
  RemoteChannel(std::string path, absl::Duration connect_timeout);

  // For the pipe of one group and version. UNAVAILABLE, naming it, when there is no such pipe.
  static absl::StatusOr<std::shared_ptr<RemoteChannel>> Open(const ClientOptions& options,
                                                             absl::string_view group,
                                                             absl::string_view version);

  // For the pipe at a path, as the simulated node's admin socket.
  static absl::StatusOr<std::shared_ptr<RemoteChannel>> OpenPath(const ClientOptions& options,
                                                                 std::string path);

  // A connection to the service as it runs now. Waits for at most the connect timeout, and no
  // longer than the call; then UNAVAILABLE. PERMISSION_DENIED when somebody else serves the pipe.
  absl::StatusOr<std::shared_ptr<Link>> Connect(const CallContext& context);

  absl::Status Call(const char* method, const CallContext& context,
                    const google::protobuf::Message& request,
                    google::protobuf::Message* response) override;

  ~RemoteChannel() override;

  const std::string& path() const { return path_; }

 private:
  // Keeps the connection: a gRPC channel to a socket, or a pipe that is opened anew.
  class Dialer;

  const std::string path_;
  const absl::Duration connect_timeout_;
  const std::unique_ptr<Dialer> dialer_;
};

}  // namespace csi_proxy::client
