// Named pipes as Win32 has them: making server instances, opening them as a client, reading and
// writing. Independent of gRPC.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/base/win32.h"
#include "server/pipe/io_port.h"

namespace csi_proxy::pipe {

// `\\.\pipe\csi-proxy-volume-v1` for `csi-proxy-volume-v1`.
std::string Path(absl::string_view name);

// Who may open a pipe. Immutable.
class Security {
 public:
  // From SDDL, such as `D:P(A;;GA;;;SY)(A;;GA;;;BA)`. INVALID_ARGUMENT unless it has a protected
  // DACL (`D:P`): without one, or with a null one, anyone could open the pipe
  // (https://learn.microsoft.com/windows/win32/secauthz/null-dacls-and-empty-dacls).
  static absl::StatusOr<Security> Parse(const std::string& sddl);

  SECURITY_ATTRIBUTES attributes() const {
    return {.nLength = sizeof(SECURITY_ATTRIBUTES),
            .lpSecurityDescriptor = descriptor_.get(),
            .bInheritHandle = FALSE};
  }

 private:
  explicit Security(win32::UniqueLocal descriptor) : descriptor_(std::move(descriptor)) {}
  win32::UniqueLocal descriptor_;
};

// The arguments of CreateNamedPipeW; separate, so that a test can see those that matter to
// security.
struct InstanceFlags {
  DWORD open_mode;
  DWORD pipe_mode;
  DWORD max_instances;
  DWORD buffer_bytes;
};
InstanceFlags FlagsOf(bool first);

// A new instance of the pipe, not connected yet. The `first` one fails with ALREADY_EXISTS or
// PERMISSION_DENIED when the pipe exists: another process serves, or squats on, the name
// (https://learn.microsoft.com/windows/win32/api/namedpipeapi/nf-namedpipeapi-createnamedpipew,
// FILE_FLAG_FIRST_PIPE_INSTANCE).
absl::StatusOr<win32::UniqueHandle> NewInstance(const std::string& path, const Security& security,
                                                bool first);

// Whether any process serves the pipe: opens it, and closes it at once, as WaitNamedPipe finds no
// pipe in a container (https://github.com/dotnet/corefx/issues/24594).
bool Exists(const std::string& path);

// Connects as a client; tries again while all instances are taken, until `deadline`. The server
// cannot impersonate the client beyond identifying it. NOT_FOUND when there is no such pipe,
// UNAVAILABLE when it is busy to the end.
absl::StatusOr<win32::UniqueHandle> Open(const std::string& path, absl::Time deadline);

// The process at the other end of a server's instance; 0 when it cannot be told.
int64_t ClientOfInstance(HANDLE instance);

// A connected pipe, read and written by overlapped I/O. At most one read and one write at a time.
// Must outlive the operations that are under way.
class Stream {
 public:
  using Done = void (*)(void* argument, DWORD error, DWORD bytes);
  struct Result {
    DWORD error = ERROR_SUCCESS;
    DWORD bytes = 0;
  };

  // The handle must have been opened for overlapped I/O. INTERNAL when it cannot be watched.
  static absl::StatusOr<std::unique_ptr<Stream>> Create(win32::UniqueHandle handle);
  ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Each begins one operation. True: it has ended already, as `result` says, and `done` will not be
  // called. False: `done` will be called on a thread of the IoPort, exactly once. A read of an
  // ended connection has error ERROR_BROKEN_PIPE; a cancelled operation has
  // ERROR_OPERATION_ABORTED.
  bool Connect(Done done, void* argument, Result* result);
  bool Read(void* buffer, DWORD size, Done done, void* argument, Result* result);
  bool Write(const void* data, DWORD size, Done done, void* argument, Result* result);

  // Ends what is under way. Thread-safe.
  void Cancel() { CancelIoEx(handle_.get(), nullptr); }

  HANDLE handle() const { return handle_.get(); }

 private:
  struct Operation : IoOperation {
    Operation() : IoOperation(&Operation::Complete) {}
    void Begin(Done new_done, void* new_argument) {
      Clear();
      done = new_done;
      argument = new_argument;
    }
    static void Complete(IoOperation* operation, DWORD error, DWORD bytes);
    Done done = nullptr;
    void* argument = nullptr;
  };

  explicit Stream(win32::UniqueHandle handle) : handle_(std::move(handle)) {}
  bool Ended(BOOL ok, Operation* operation, Result* result);

  const win32::UniqueHandle handle_;
  Operation inward_;  // connecting, then reading
  Operation outward_;
};

// A connection that has sent its HTTP/2 preface; what a listener hands on.
struct Connection {
  std::shared_ptr<Stream> stream;
  // What has been read of it so far.
  std::string received;
  // A name of its own, by which the listener knows its peer.
  std::string name;
  // Sees what is read next before gRPC does; false ends the connection. May be null.
  std::function<bool(absl::string_view bytes)> inspect;
  // Called once, when the connection has ended or is given up. Must not block.
  std::function<void()> closed;
};

}  // namespace csi_proxy::pipe
