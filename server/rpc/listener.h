// Accepts connections on the product's pipes and lets through those that speak HTTP/2.
//
// A connection is watched from its acceptance to its end. Until it has sent the HTTP/2 client
// preface it belongs to the listener, which closes it when a deadline passes or when the first
// bytes are something else: legacy clients open a connection only to see that the pipe exists,
// and abandon it, and gRPC applies no handshake deadline to connections it is handed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/rpc/http2_guard.h"
#include "server/rpc/runtime.h"

namespace csi_proxy::transport {

struct ListenerLimits {
  // How long a connection may stay silent before the HTTP/2 preface.
  absl::Duration preface_timeout = absl::Seconds(10);
  // Open connections per pipe. At the limit a connection of the client that has most of them makes
  // room for a new one: a silent one, or else one that has never made a call, or else one that has
  // made none for long. When calls are under way on all, the new one is closed.
  size_t max_connections = 1024;
  // How many percent of those connections that other tenants leave one tenant may have, and of
  // that, one of its clients when it has several; beyond them its own make room.
  size_t client_share = 75;
};

// Counts since the start, over all pipes.
struct ListenerCounters {
  uint64_t accepted = 0;
  uint64_t adopted = 0;          // sent the preface and went to a server
  uint64_t dropped_silent = 0;   // closed at the preface deadline
  uint64_t dropped_garbage = 0;  // closed for other first bytes
  // New or silent, and closed for a limit of ListenerLimits or a lack of descriptors.
  uint64_t dropped_for_room = 0;
  uint64_t dropped_barred = 0;  // new, of a client that is barred (Http2Limits)
  uint64_t ended_for_room = 0;  // idle with a server, and ended for the same
  // Served, and ended by the guard, by Http2Violation.
  std::array<uint64_t, kHttp2Violations> violations{};
  size_t silent = 0;  // open now, before the preface
  size_t live = 0;    // open now, with a server
};

// Takes over a connection that has sent its preface. `handle` is a socket on POSIX, whose preface
// is still to be read, and a pipe::Connection* (server/rpc/pipe/pipe.h) on Windows; either is owned
// from then on. Called on a thread of the listener.
using AdoptFunction = std::function<void(intptr_t handle)>;

// A named pipe to be: what it is called and who takes its connections.
struct PipeEndpoint {
  // `csi-proxy-volume-v1`
  std::string name;
  AdoptFunction adopt;
};

// Thread-safe but for Listen(), Stop() and CloseLive(), which are called once each in this order.
class Listener : public shim::ConnectionDirectory {
 public:
  // Makes every pipe and begins to accept; all pipes appear together or none. FAILED_PRECONDITION
  // when another process serves them.
  virtual absl::Status Listen(std::vector<PipeEndpoint> endpoints) = 0;

  // Removes the pipes and closes the connections that are still silent. Adopted ones live on.
  virtual void Stop() = 0;

  // Ends the adopted connections. Their clients see a broken connection and UNAVAILABLE, where
  // gRPC's own shutdown would cancel calls that arrive while it goes on. On Windows it waits until
  // they have read what was written, for two seconds at the most.
  virtual void CloseLive() = 0;

  virtual ListenerCounters counters() const = 0;
};

// Where the pipes are and who may open them.
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
                                      std::vector<shim::CallObserver*> observers = {});

}  // namespace csi_proxy::transport
