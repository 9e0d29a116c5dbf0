// Ends the connections of a server.
//
// Closing the server's handle is not enough: a client that never closes its end keeps the pipe's
// name for as long as it runs (pipe_name.h). DisconnectNamedPipe takes the client's end from it,
// but discards what it has not read; FlushFileBuffers waits for that, but for ever
// (https://learn.microsoft.com/windows/win32/api/namedpipeapi/nf-namedpipeapi-disconnectnamedpipe,
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-flushfilebuffers). So threads of
// the Closer wait by flushing, and another one disconnects what takes too long, which ends the
// flush as well (ReactOS, drivers/filesystems/npfs/statesup.c, NpSetDisconnectedPipeState). If the
// system starts no thread for that, clients are disconnected at once.
#pragma once

#include <atomic>
#include <memory>

#include "absl/time/time.h"
#include "server/base/start_thread.h"
#include "server/rpc/pipe/pipe_calls.h"

namespace csi_proxy::pipe {

class ServerEnd;

// Thread-safe.
class Closer {
 public:
  // A client has `patience` to read what it was sent.
  Closer(std::shared_ptr<PipeCalls> calls, absl::Duration patience,
         ThreadStarter start_thread = StartThread);

  // Owns an instance from now on.
  std::shared_ptr<ServerEnd> Own(void* instance);

  // Returns when all ends are disconnected, whoever still holds them: at the latest after
  // `patience`, when it disconnects those that are not.
  void Finish();

 private:
  friend class ServerEnd;
  class State;
  const std::shared_ptr<State> state_;
};

// The server's end of an instance, connected or not. It is never closed without being disconnected:
// what destroys it while bytes are unread discards them. Thread-safe.
class ServerEnd : public std::enable_shared_from_this<ServerEnd> {
 public:
  ~ServerEnd();
  ServerEnd(const ServerEnd&) = delete;
  ServerEnd& operator=(const ServerEnd&) = delete;

  void* handle() const { return handle_; }

  void Disconnect();

  // Disconnects when the client has read everything or has gone, at the latest after the Closer's
  // patience. Returns at once. Nothing may be read or written any more.
  void DisconnectOnceRead();

 private:
  friend class Closer;
  ServerEnd(std::shared_ptr<Closer::State> state, void* handle)
      : state_(std::move(state)), handle_(handle) {}

  const std::shared_ptr<Closer::State> state_;
  void* const handle_;
  std::atomic<bool> disconnected_ = false;
  std::atomic<bool> leaving_ = false;
};

}  // namespace csi_proxy::pipe
