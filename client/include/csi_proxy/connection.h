// A connection to a node, for the clients of all groups and versions.
//
//   absl::StatusOr<std::shared_ptr<csi_proxy::Connection>> connection =
//       csi_proxy::Connect();
//   if (!connection.ok()) return connection.status();
//   csi_proxy::disk::v1::Client disks(*connection);
//   csi_proxy::volume::v1::Client volumes(*connection);
//
// Connect once per program, and pass the connection to every client.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "csi_proxy/log_function.h"

namespace csi_proxy {

class Node;

namespace client {
struct Opened;
}

// The place where calls run: the service or this process.
enum class Mode {
  // Connect() chooses among the linked modes. The environment variable CSI_PROXY_MODE (remote or
  // embedded) decides if it is set to one of them. If it is unset or `auto`: kRemote if any pipe of
  // the service exists; otherwise kEmbedded if this process may manage storage and is not in an
  // ordinary Windows container; otherwise kRemote, and calls wait for the service to start.
  kAuto,
  // Calls go to the service, over its pipes. REQUIRES: the library csi_proxy::client is linked.
  kRemote,
  // Calls run in this process, on the calling thread. REQUIRES: csi_proxy::embedded is linked.
  kEmbedded,
};

struct ClientOptions {
  Mode mode = Mode::kAuto;

  // In remote mode, except on Windows, the directory of the sockets. If empty, the directory is
  // that in the variable CSI_PROXY_SOCKET_DIR, or /run/csi-proxy if the variable is unset or empty.
  std::string socket_dir = {};
  // In remote mode, how long a call waits for a pipe that is missing or has no server, for example
  // while the service restarts. Then the call fails with UNAVAILABLE.
  absl::Duration connect_timeout = absl::Seconds(5);

  // In embedded mode, the node to act on. If null, all connections of the process share a node with
  // default NodeOptions: this machine on Windows, elsewhere a simulated node, with a warning.
  std::shared_ptr<Node> node = nullptr;

  // Receives kAuto's choice with its reason, and the warning above. If null, standard error does.
  LogFunction log = nullptr;
};

// Thread-safe. Every client keeps its connection alive.
class Connection {
 public:
  virtual ~Connection() = default;

  // Returns kRemote or kEmbedded.
  virtual Mode mode() const = 0;

  // Returns OK if the node seems to serve a version of a group, e.g. Check("volume", "v1"). In
  // remote mode, UNAVAILABLE naming the pipe if it does not exist; a killed service leaves its
  // socket. In embedded mode, UNIMPLEMENTED if this release of the library lacks the version. Does
  // not block: it looks for the pipe, on Windows by opening and closing it, but makes no call.
  virtual absl::Status Check(absl::string_view group, absl::string_view version) const = 0;

  // Returns the calls of one version. For the constructors of clients only.
  virtual client::Opened Open(absl::string_view group, absl::string_view version) = 0;
};

// Chooses the mode and returns a connection. In remote mode the service need not be running. In
// embedded mode Connect() opens the node, and returns the error if that fails.
//
// INVALID_ARGUMENT if kAuto finds an unknown value in CSI_PROXY_MODE; UNIMPLEMENTED if the mode is
// not linked; FAILED_PRECONDITION if kAuto finds only embedded mode linked, and this process runs,
// or may run, in an ordinary Windows container.
absl::StatusOr<std::shared_ptr<Connection>> Connect(ClientOptions options = {});

}  // namespace csi_proxy
