// Ends the connections of a server.
//
// Closing the server's handle is not enough, because a client that keeps its end open also keeps
// the pipe's name (pipe_name.h). DisconnectNamedPipe closes the client's end, but discards bytes
// that the client has not read. FlushFileBuffers waits until all is read, without a limit
// (https://learn.microsoft.com/windows/win32/api/namedpipeapi/nf-namedpipeapi-disconnectnamedpipe,
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-flushfilebuffers). Therefore
// threads of the Closer flush, and another thread disconnects an end that takes too long. The
// disconnect ends the flush (ReactOS, drivers/filesystems/npfs/statesup.c,
// NpSetDisconnectedPipeState). If no thread can be started, clients are disconnected without a
// flush.
#pragma once

#include <atomic>
#include <memory>

#include "absl/time/time.h"
#include "server/base/start_thread.h"
#include "server/pipe/pipe_calls.h"

namespace csi_proxy::pipe {

class ServerEnd;

// Thread-safe.
class Closer {
 public:
  // `patience` is the time that a client has to read what was sent.
  Closer(std::shared_ptr<PipeCalls> calls, absl::Duration patience,
         ThreadStarter start_thread = StartThread);

  // Takes ownership of an instance.
  std::shared_ptr<ServerEnd> Adopt(void* instance);

  // Waits until all ends are disconnected, but at most for `patience`. Then disconnects the
  // remaining ends, even those that other objects still own.
  void Finish();

 private:
  friend class ServerEnd;
  class State;
  const std::shared_ptr<State> state_;
};

// The server's end of an instance, connected or not. The destructor disconnects and closes the
// instance, and so discards bytes that the client has not read. Thread-safe.
class ServerEnd : public std::enable_shared_from_this<ServerEnd> {
 public:
  ~ServerEnd();
  ServerEnd(const ServerEnd&) = delete;
  ServerEnd& operator=(const ServerEnd&) = delete;

  void* handle() const { return handle_; }

  void Disconnect();

  // Disconnects once the client has read everything or has gone, and at the latest after the
  // Closer's patience. Disconnects earlier if too many ends wait or the system starts no thread.
  // Returns without waiting. No read or write may follow.
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
