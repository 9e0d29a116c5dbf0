// A connected byte stream on Windows: an end of a named pipe (pipe.h), or a socket
// (client/grpc/socket.h). Independent of gRPC.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/pipe/io_port.h"
#include "server/platform/win32.h"

namespace csi_proxy::pipe {

// Uses overlapped I/O, at most one read and one write at a time. Must outlive operations under way.
class Stream {
 public:
  using Done = void (*)(void* argument, DWORD error, DWORD bytes);
  struct Result {
    DWORD error = ERROR_SUCCESS;
    DWORD bytes = 0;
  };

  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Returns `pipe` or `socket`, for error texts.
  virtual const char* kind() const = 0;

  // Begin an operation. If the operation ends synchronously, return true, set `result` and do not
  // call `done`. Otherwise return false; `done` is called exactly once, on a thread of the IoPort.
  // A cancelled operation fails with ERROR_OPERATION_ABORTED. A read after the connection has ended
  // fails with another error.
  virtual bool Read(void* buffer, DWORD size, Done done, void* argument, Result* result) = 0;
  virtual bool Write(const void* data, DWORD size, Done done, void* argument, Result* result) = 0;

  // Cancels the operations under way. Thread-safe, like Disconnect() and HangUp().
  virtual void Cancel() = 0;

  // Ends the connection immediately, even if the other end has not read everything.
  virtual void Disconnect() = 0;

  // Ends the connection so that the other end can still read what was written. The owner's read
  // fails, now or soon, and so reports the end.
  virtual void HangUp() = 0;

 protected:
  struct Operation : IoOperation {
    explicit Operation(IoOperation::Complete complete = &Operation::End) : IoOperation(complete) {}
    void Begin(Done new_done, void* new_argument) {
      Clear();
      done = new_done;
      argument = new_argument;
    }
    static void End(IoOperation* operation, DWORD error, DWORD bytes) {
      auto* const self = static_cast<Operation*>(operation);
      self->done(self->argument, error, bytes);
    }
    Done done = nullptr;
    void* argument = nullptr;
  };

  Stream() = default;
};

// A connection that is passed to gRPC, for example by a listener to Serve().
struct Connection {
  std::shared_ptr<Stream> stream;
  // The bytes that the listener has read already.
  std::string received;
  // The name that gRPC shows as the connection's peer.
  std::string name;
  // Receives the bytes from the other end before gRPC does, except `received`. Returns false to end
  // the connection. May be null.
  std::function<bool(absl::string_view bytes)> admits;
  // Called once, when the connection has ended or is given up. Must not block.
  std::function<void()> closed;
};

}  // namespace csi_proxy::pipe
