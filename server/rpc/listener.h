// Accepts connections on the product's pipes and serves the clients that speak HTTP/2.
//
// The listener owns a connection until the client has sent the HTTP/2 preface. The listener closes
// a connection at a deadline, or if its first bytes are not the preface: legacy clients open a
// connection only to see that the pipe exists, and never use the connection.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/calls/call_deps.h"
#include "server/rpc/client_registry.h"
#include "server/rpc/connection_table.h"

namespace csi_proxy::transport {
class Stream;
}

namespace csi_proxy::rpc {

class PipeServer;

// Thread-safe, but one thread must call Listen() once, then Stop() and CloseLive(), in this order.
class Listener {
 public:
  virtual ~Listener() = default;

  // Makes a pipe for each server, all or none, and begins to accept. The error is
  // FAILED_PRECONDITION if another process serves one of the pipes.
  virtual absl::Status Listen(std::vector<std::shared_ptr<const PipeServer>> servers) = 0;

  // Removes the pipes and closes connections without a preface. Served connections stay open.
  virtual void Stop() = 0;

  // Ends the served connections, and waits up to two seconds for their end. Their clients see a
  // broken connection and UNAVAILABLE. On Windows, first waits up to two more seconds until the
  // clients have read their answers.
  virtual void CloseLive() = 0;

  // Returns the connections of all pipes.
  ConnectionTable& connections() const { return *connections_; }

 protected:
  Listener(ListenerLimits limits, std::vector<CallObserver*> observers)
      : connections_(std::make_shared<ConnectionTable>(limits, std::move(observers))) {}

  // Serves a connection that has sent its preface. `promoted` is the table's record of the
  // connection, and `received` has the bytes that were read from `stream`.
  void Serve(std::shared_ptr<const PipeServer> server, std::shared_ptr<ServedConnection> promoted,
             std::shared_ptr<transport::Stream> stream, absl::string_view received);

  // Shared with the connections, because they may outlive the listener.
  const std::shared_ptr<ConnectionTable> connections_;
  ClientRegistry clients_;
};

// The place of the pipes, and the accounts that may open them.
struct PipePlace {
  // The directory of the sockets. Unused on Windows.
  std::string socket_dir;
  // The pipes' security descriptor in SDDL, on Windows only. By default SYSTEM and Administrators
  // may open the pipes, but only SYSTEM may serve them and change their rights. Administrators get
  // 0x12019b, and further groups should get the same. Generic write would be too much, because it
  // contains FILE_CREATE_PIPE_INSTANCE
  // (https://learn.microsoft.com/windows/win32/ipc/named-pipe-security-and-access-rights). The
  // entry of OW leaves a pipe's owner only the right to read its descriptor. pipe::SddlForServer()
  // adds the user of this process, as owner and with all rights.
  std::string sddl = "D:P(A;;GA;;;SY)(A;;0x12019b;;;BA)(A;;RC;;;OW)";
};

// Returns the listener of the platform.
//
// POSIX: Unix sockets `<directory>/<name>.sock`, mode 0600. Makes the directory (0700) if its
// parent exists. The directory's path must not contain a symbolic link. The directory must belong
// to this user and must not be writable by another user. The listener locks the directory against a
// second server.
//
// Windows: named pipes `\\.\pipe\<name>`, open to local processes only.
//
// Reports clients at their connection limit to `observers`, which must outlive all connections.
std::unique_ptr<Listener> NewListener(PipePlace place, ListenerLimits limits,
                                      std::vector<CallObserver*> observers = {});

}  // namespace csi_proxy::rpc
