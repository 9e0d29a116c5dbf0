// Accepts connections on the product's pipes and lets through those that speak HTTP/2.
//
// A connection is watched from its acceptance to its end. Until it has sent the HTTP/2 client
// preface it belongs to the listener, which closes it when a deadline passes or when the first
// bytes are something else: legacy clients open a connection only to see that the pipe exists,
// and abandon it, and gRPC applies no handshake deadline to connections it is handed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/rpc/connection_table.h"
#include "server/rpc/runtime.h"

namespace grpc {
class Server;
}

namespace csi_proxy::rpc {

// A connection that has sent its preface. One that no server takes ends with the object.
class ReadyConnection {
 public:
  virtual ~ReadyConnection() = default;
  // Hands the connection to `server`, which owns it from now on. Called once.
  virtual void Serve(grpc::Server* server) = 0;
};

// A named pipe to be made: its name, and the function that takes its connections.
struct PipeEndpoint {
  // `csi-proxy-volume-v1`
  std::string name;
  // Called on a thread of the listener. `is_main`: as ServedConnection has it.
  std::function<void(std::unique_ptr<ReadyConnection>, bool is_main)> serve;
};

// Thread-safe but for Listen(), Stop() and CloseLive(), which are called once each in this order.
class Listener {
 public:
  virtual ~Listener() = default;

  // Makes every pipe and begins to accept; all pipes appear together or none. FAILED_PRECONDITION
  // when another process serves them.
  virtual absl::Status Listen(std::vector<PipeEndpoint> endpoints) = 0;

  // Removes the pipes and closes the connections that are still silent. Adopted ones live on.
  virtual void Stop() = 0;

  // Ends the adopted connections. Their clients see a broken connection and UNAVAILABLE, where
  // gRPC's own shutdown would cancel calls that arrive while it goes on. On Windows it waits until
  // they have read what was written, for two seconds at the most.
  virtual void CloseLive() = 0;

  // The connections of all pipes.
  const ConnectionTable& connections() const { return *connections_; }

 protected:
  Listener(ListenerLimits limits, std::vector<CallObserver*> observers)
      : connections_(std::make_shared<ConnectionTable>(limits, std::move(observers))) {}

  // Shared with the connections that gRPC serves, which may outlive the listener.
  const std::shared_ptr<ConnectionTable> connections_;
};

// The place of the pipes, and the accounts that may open them.
struct PipePlace {
  // The directory of the sockets; not on Windows.
  std::string socket_dir;
  // The pipes' security descriptor in SDDL; only on Windows. By default the system and
  // administrators open the pipes, and the system alone serves them and changes who may: what
  // administrators get, and whatever further group is named, is 0x12019b rather than generic write,
  // which contains FILE_CREATE_PIPE_INSTANCE
  // (https://learn.microsoft.com/windows/win32/ipc/named-pipe-security-and-access-rights); and the
  // entry of OW leaves whoever owns a pipe only the right to look. The user of this process is
  // added, as owner and with all rights (pipe::SddlForServer).
  std::string sddl = "D:P(A;;GA;;;SY)(A;;0x12019b;;;BA)(A;;RC;;;OW)";
};

// The listener of the platform.
//
// POSIX: Unix sockets `<directory>/<name>.sock`, mode 0600. The directory is made (0700) when its
// parent exists; it must not be a symbolic link, must belong to this user and be writable by nobody
// else, and is locked against a second server while this one lives.
//
// Windows: named pipes `\\.\pipe\<name>`, open to local processes only.
//
// `observers` are told of clients that are at their limit of connections, and outlive whatever is
// served.
std::unique_ptr<Listener> NewListener(PipePlace place, ListenerLimits limits,
                                      std::vector<CallObserver*> observers = {});

}  // namespace csi_proxy::rpc
