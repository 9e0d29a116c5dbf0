// A connected byte stream under Windows, as gRPC is given one: an end of a named pipe (pipe.h) or a
// socket (socket.h). Independent of gRPC.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/base/win32.h"
#include "server/rpc/pipe/io_port.h"

namespace csi_proxy::pipe {

// Read and written by overlapped I/O. At most one read and one write at a time. Must outlive the
// operations that are under way.
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

  // `pipe` or `socket`, for the texts of errors.
  virtual const char* kind() const = 0;

  // Each begins one operation. True: it has ended already, as `result` says, and `done` will not be
  // called. False: `done` will be called on a thread of the IoPort, exactly once. A cancelled
  // operation has error ERROR_OPERATION_ABORTED, a read of an ended connection another one.
  virtual bool Read(void* buffer, DWORD size, Done done, void* argument, Result* result) = 0;
  virtual bool Write(const void* data, DWORD size, Done done, void* argument, Result* result) = 0;

  // Ends what is under way. Thread-safe, as are the next two.
  virtual void Cancel() = 0;

  // Ends the connection at once, whatever the other end has not read yet.
  virtual void Disconnect() = 0;

  // Lets gRPC know that the connection ends, by a read that fails now or a moment later; what was
  // written can still be read.
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

// Sees the bytes of a connection before they pass on. Read() and Written() may be called at the
// same time, but each by one thread at a time.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // From the client, next after what a listener has read. False ends the connection. `pieces` gets
  // the bytes, cut: gRPC keeps a piece whole for as long as it keeps a byte of it.
  virtual bool Read(absl::string_view bytes, std::vector<absl::string_view>* pieces) = 0;
  // To the client: the stream has taken them all.
  virtual void Written(absl::string_view bytes) = 0;
};

// A client's connection; what a listener hands on.
struct Connection {
  std::shared_ptr<Stream> stream;
  // The bytes that have been read of it so far.
  std::string received;
  // A name of its own, by which the listener knows its peer.
  std::string name;
  // May be null.
  std::unique_ptr<Watcher> watcher;
  // Called once, when the connection has ended or is given up. Must not block.
  std::function<void()> closed;
};

}  // namespace csi_proxy::pipe
