// Named pipes as Win32 has them: making server instances, opening them as a client, reading and
// writing. Independent of gRPC.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/base/win32.h"
#include "server/rpc/pipe/closer.h"
#include "server/rpc/pipe/pipe_calls.h"
#include "server/rpc/pipe/stream.h"

namespace csi_proxy::pipe {

// `\\.\pipe\csi-proxy-volume-v1` for `csi-proxy-volume-v1`.
std::string Path(absl::string_view name);

// An access list: it says who may open a pipe. Immutable.
class Security {
 public:
  // From SDDL, such as `D:P(A;;GA;;;SY)(A;;GA;;;BA)`. INVALID_ARGUMENT unless it has a protected
  // DACL (`D:P`): without one, or with a null one, anyone could open the pipe
  // (https://learn.microsoft.com/windows/win32/secauthz/null-dacls-and-empty-dacls).
  static absl::StatusOr<Security> Parse(const std::string& sddl);
  // The same for pipes that this process makes: its user owns and may serve them (SddlForServer).
  static absl::StatusOr<Security> ForServer(const std::string& sddl);

  SECURITY_ATTRIBUTES attributes() const {
    return {.nLength = sizeof(SECURITY_ATTRIBUTES),
            .lpSecurityDescriptor = descriptor_.get(),
            .bInheritHandle = FALSE};
  }

 private:
  explicit Security(win32::UniqueLocal descriptor) : descriptor_(std::move(descriptor)) {}
  win32::UniqueLocal descriptor_;
};

// The arguments of CreateNamedPipeW for all but an inheriting instance; separate, so that a test
// can see those that matter to security.
struct InstanceFlags {
  DWORD open_mode;
  DWORD pipe_mode;
  DWORD max_instances;
  DWORD buffer_bytes;
};
InstanceFlags FlagsOf(Creation creation);

// Windows' own; the pipes they make have this security.
absl::StatusOr<std::shared_ptr<PipeCalls>> NewPipeCalls(Security security);

// Tells whether any process serves the pipe: opens it, and closes it at once, since WaitNamedPipe
// finds no pipe in a container (https://github.com/dotnet/corefx/issues/24594).
bool Exists(const std::string& path);

// Connects as a client; tries again while all instances are taken, until `deadline`. The server
// cannot impersonate the client beyond identifying it. NOT_FOUND when there is no such pipe,
// UNAVAILABLE when it is busy to the end.
absl::StatusOr<win32::UniqueHandle> Open(const std::string& path, absl::Time deadline);

// The process at the other end of a server's instance; 0 when it cannot be told.
int64_t ClientOfInstance(HANDLE instance);

// A connected pipe. A read of an ended connection has error ERROR_BROKEN_PIPE, or
// ERROR_PIPE_NOT_CONNECTED when the server has disconnected it.
class PipeStream final : public Stream {
 public:
  // A client's handle must have been opened for overlapped I/O. INTERNAL when it cannot be watched.
  static absl::StatusOr<std::unique_ptr<PipeStream>> Create(win32::UniqueHandle client);
  // A server's disconnects its client when it is destroyed, if nothing has done so before.
  static absl::StatusOr<std::unique_ptr<PipeStream>> Create(std::shared_ptr<ServerEnd> server);

  // Awaits a client at a server's end; an operation like a read.
  bool Connect(Done done, void* argument, Result* result);

  const char* kind() const override { return "pipe"; }
  bool Read(void* buffer, DWORD size, Done done, void* argument, Result* result) override;
  bool Write(const void* data, DWORD size, Done done, void* argument, Result* result) override;
  void Cancel() override { CancelIoEx(handle_, nullptr); }

  // A server's: ends the connection at once, or when the client has read what was written (see
  // ServerEnd). A client's ends when it is destroyed. Thread-safe.
  void Disconnect() override {
    if (server_ != nullptr) server_->Disconnect();
  }
  void DisconnectOnceRead() {
    if (server_ != nullptr) server_->DisconnectOnceRead();
  }
  void HangUp() override {
    Cancel();
    DisconnectOnceRead();
  }

  HANDLE handle() const { return handle_; }

 private:
  PipeStream(HANDLE handle, win32::UniqueHandle client, std::shared_ptr<ServerEnd> server)
      : client_(std::move(client)), server_(std::move(server)), handle_(handle) {}
  bool Ended(BOOL ok, Operation* operation, Result* result);

  // One of both.
  const win32::UniqueHandle client_;
  const std::shared_ptr<ServerEnd> server_;
  const HANDLE handle_;
  Operation inward_;  // connecting, then reading
  Operation outward_;
};

}  // namespace csi_proxy::pipe
