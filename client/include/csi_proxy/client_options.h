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

// Where the work is done: by the service, or in this process.
enum class Mode {
  // As the environment variable CSI_PROXY_MODE says (auto, remote or embedded). If it is unset or
  // auto: the service if its pipe exists, otherwise embedded if this process may manage storage and
  // is not in an ordinary Windows container; only modes that are linked are chosen. The choice and
  // its reason are logged.
  kAuto,
  // The service, over its pipe. Needs the library csi_proxy::client.
  kRemote,
  // The same code in this process, on the thread that calls. Needs the library csi_proxy::embedded.
  kEmbedded,
};

struct ClientOptions {
  Mode mode = Mode::kAuto;

  // Remote: the directory of the sockets. Empty: as the environment variable CSI_PROXY_SOCKET_DIR
  // says, or /run/csi-proxy. Not used on Windows.
  std::string socket_dir = {};
  // Remote: how long a call waits for a service that is not running, such as while it restarts.
  absl::Duration connect_timeout = absl::Seconds(5);

  // Embedded: the node to act on. Null: one that all clients of the process share, with the default
  // NodeOptions; it is this machine on Windows, and a simulated node elsewhere.
  std::shared_ptr<Node> node = nullptr;

  // Defaults for calls.
  CallOptions call = {};

  // Receives the line in which kAuto logs its choice. Null: standard error.
  std::function<void(absl::string_view line)> log = nullptr;
};

}  // namespace csi_proxy
