// The platform's part of a RemoteChannel: making a connection to the service.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cpp/link.h"
#include "client/cpp/remote_channel.h"

namespace csi_proxy::client {

// Thread-safe.
class RemoteChannel::Dialer {
 public:
  explicit Dialer(std::string path);
  ~Dialer();

  // Returns a connection on which the running service has answered. Makes a new one if the service
  // has restarted or does not read what it is sent. UNAVAILABLE with the reason if there is no
  // connection by `deadline`, or at once if none can be made. PERMISSION_DENIED if the pipe does
  // not belong to the service; then nothing is sent.
  absl::StatusOr<std::shared_ptr<Link>> Get(absl::Time deadline);

 private:
  struct State;
  const std::string path_;
  const std::shared_ptr<State> state_;
};

}  // namespace csi_proxy::client
