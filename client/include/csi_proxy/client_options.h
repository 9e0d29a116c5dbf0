// How a client reaches the node.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "csi_proxy/call_options.h"

namespace csi_proxy {

class Node;

// Whether a client needs the service or does its work in this process.
enum class Mode {
  // What the environment variable CSI_PROXY_MODE says (auto, remote or embedded). Where it is unset
  // or auto: the service when its pipe is there, else embedded when this process may manage
  // storage, each as far as it is linked. Which, and why, is logged.
  kAuto,
  // The service, over its pipe. Needs the library csi_proxy::client.
  kRemote,
  // The same code in this process, on the thread that calls. Needs the library csi_proxy::embedded.
  kEmbedded,
};

struct ClientOptions {
  Mode mode = Mode::kAuto;

  // Remote: where the sockets stand. Empty: the environment variable CSI_PROXY_SOCKET_DIR, else
  // /run/csi-proxy. Not on Windows.
  std::string socket_dir = {};
  // Remote: how long a call waits for a service that is not there, as while it restarts.
  absl::Duration connect_timeout = absl::Seconds(5);

  // Embedded: the node to act on. Null: one that all clients of the process share, with the default
  // NodeOptions; it is this machine on Windows, and a simulated node elsewhere.
  std::shared_ptr<Node> node = nullptr;

  // For calls that do not say otherwise.
  CallOptions call = {};

  // Takes the line in which kAuto tells its choice. Null: standard error.
  std::function<void(absl::string_view line)> log = nullptr;
};

}  // namespace csi_proxy
