// What stands behind a RemoteChannel on each platform.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "client/remote_channel.h"

namespace csi_proxy::client {

// Thread-safe.
class RemoteChannel::Connection {
 public:
  explicit Connection(std::string path);
  ~Connection();

  // The channel to the service as it runs now, connected; made anew when the service is another
  // than before. Null when that does not succeed by `deadline`, or at once when the pipe is not
  // there.
  std::shared_ptr<grpc::Channel> Channel(absl::Time deadline);

 private:
  struct State;
  const std::string path_;
  const std::unique_ptr<State> state_;
};

}  // namespace csi_proxy::client
