// How a client reaches the node.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "client/call_options.h"

namespace csi_proxy {

enum class Mode {
  // As the environment variable CSI_PROXY_MODE says (auto, remote or embedded); where it is unset
  // or
  // auto, the service.
  kAuto,
  // The service, over its pipe.
  kRemote,
  // The same code in this process. UNIMPLEMENTED in this release.
  kEmbedded,
};

struct ClientOptions {
  Mode mode = Mode::kAuto;
  // Where the sockets stand. Empty: the environment variable CSI_PROXY_SOCKET_DIR, else
  // /run/csi-proxy.
  std::string socket_dir;
  // How long a call waits for a service that is not there, as while it restarts.
  absl::Duration connect_timeout = absl::Seconds(5);
  // For calls that do not say otherwise.
  CallOptions call;
};

}  // namespace csi_proxy
