// A connection to a node, for the clients of all groups and versions.
//
//   absl::StatusOr<std::shared_ptr<csi_proxy::Connection>> connection =
//       csi_proxy::Connect();
//   if (!connection.ok()) return connection.status();
//   csi_proxy::disk::v1::Client disks(*connection);
//   csi_proxy::volume::v1::Client volumes(*connection);
//
// A program connects once and gives the connection to every client it makes.
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

// Says where the work is done: by the service, or in this process.
enum class Mode {
  // Connect() does as the environment variable CSI_PROXY_MODE says (auto, remote or embedded). If
  // it is unset or auto, Connect() takes kRemote when any pipe of the service is there; else
  // kEmbedded when this process may manage storage and is not in an ordinary Windows container;
  // else kRemote, for a service that is still to come. It takes only modes that are linked.
  kAuto,
  // The service does it, over its pipes. Needs the library csi_proxy::client.
  kRemote,
  // The same code does it in this process, on the thread that calls. Needs the library
  // csi_proxy::embedded.
  kEmbedded,
};

struct ClientOptions {
  Mode mode = Mode::kAuto;

  // Remote: the directory of the sockets. Empty: as the environment variable CSI_PROXY_SOCKET_DIR
  // says, or /run/csi-proxy. Not used on Windows.
  std::string socket_dir = {};
  // Remote: how long a call waits for a pipe that nobody serves, such as while the service
  // restarts.
  absl::Duration connect_timeout = absl::Seconds(5);

  // Embedded: the node to act on. Null: one that all connections of the process share, with the
  // default NodeOptions. It is this machine on Windows. Elsewhere it is a simulated node, and a
  // warning in the log says so.
  std::shared_ptr<Node> node = nullptr;

  // Receives the mode that kAuto has chosen, with the reason. Null: standard error.
  LogFunction log = nullptr;
};

// Thread-safe. The clients made with it share it: it lasts until the last of them is gone.
class Connection {
 public:
  virtual ~Connection() = default;

  // Returns kRemote or kEmbedded.
  virtual Mode mode() const = 0;

  // Tells whether the node serves a version of a group, as Check("volume", "v1"). UNAVAILABLE
  // naming the pipe that is not there: the service does not run, or is too old for the version.
  // UNIMPLEMENTED if this release lacks the version. Neither waits nor calls.
  virtual absl::Status Check(absl::string_view group, absl::string_view version) const = 0;

  // For the constructors of clients: the version's calls.
  virtual client::Opened Open(absl::string_view group, absl::string_view version) = 0;
};

// Decides the mode, once. In remote mode the service need not be there: a call to a pipe that is
// absent waits for it, and then fails with UNAVAILABLE. In embedded mode Connect() opens the node.
//
// INVALID_ARGUMENT for a bad CSI_PROXY_MODE; UNIMPLEMENTED for a mode that is not linked;
// FAILED_PRECONDITION if only embedded mode is linked and kAuto may not choose it here.
absl::StatusOr<std::shared_ptr<Connection>> Connect(ClientOptions options = {});

}  // namespace csi_proxy
