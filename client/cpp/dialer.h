// The part of a RemoteChannel that each platform has its own way of.
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

  // The connection to the service as it runs now, which has answered; made anew when the service is
  // another than before, or does not read what it is sent. UNAVAILABLE and why when that does not
  // succeed by `deadline`, or at once when it cannot; PERMISSION_DENIED when the pipe is not the
  // service's, which is sent nothing then.
  absl::StatusOr<std::shared_ptr<Link>> Get(absl::Time deadline);

 private:
  struct State;
  const std::string path_;
  const std::shared_ptr<State> state_;
};

}  // namespace csi_proxy::client
