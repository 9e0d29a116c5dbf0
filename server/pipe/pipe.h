// Named pipes of Win32: server instances, clients, reading and writing. Independent of gRPC.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"
#include "server/pipe/closer.h"
#include "server/pipe/pipe_calls.h"
#include "server/pipe/stream.h"
#include "server/platform/win32.h"

namespace csi_proxy::pipe {

// Returns the path of a pipe: `\\.\pipe\csi-proxy-volume-v1` for `csi-proxy-volume-v1`.
std::string Path(absl::string_view name);

// A security descriptor for pipes. Its DACL says who may open a pipe. Immutable.
class Security {
 public:
  // Parses SDDL, for example `D:P(A;;GA;;;SY)(A;;GA;;;BA)`. Returns INVALID_ARGUMENT unless it has
  // a protected DACL (`D:P`), because without a DACL, or with a null DACL, everyone could open the
  // pipe (https://learn.microsoft.com/windows/win32/secauthz/null-dacls-and-empty-dacls).
  static absl::StatusOr<Security> Parse(const std::string& sddl);
  // Parses SDDL for pipes of this process, after SddlForServer() has added the process's user.
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

// Arguments of CreateNamedPipeW.
struct InstanceFlags {
  DWORD open_mode;
  DWORD pipe_mode;
  DWORD max_instances;
  DWORD buffer_bytes;
};
// Returns the arguments with which an instance is made, so that a test can check them. REQUIRES:
// `creation` is not kInheriting.
InstanceFlags FlagsOf(Creation creation);

// Returns the PipeCalls that call Windows. The pipes that they make have the security `security`.
absl::StatusOr<std::shared_ptr<PipeCalls>> NewPipeCalls(Security security);

// Returns true if a process serves the pipe. Opens the pipe and closes it immediately, because
// WaitNamedPipe finds no pipe in a container (https://github.com/dotnet/corefx/issues/24594).
bool Exists(const std::string& path);

// Connects as a client, and tries again until `deadline` while all instances are taken. The server
// may identify the client, but cannot impersonate it. Returns NOT_FOUND if there is no such pipe,
// and UNAVAILABLE if all instances are still taken at `deadline`.
absl::StatusOr<win32::UniqueHandle> Open(const std::string& path, SteadyTime deadline);

// Returns the id of the client's process, or 0 if it is unknown.
int64_t ClientOfInstance(HANDLE instance);

// A connected pipe. A read fails with ERROR_PIPE_NOT_CONNECTED after the server has disconnected
// the client, and with ERROR_BROKEN_PIPE after any other end of the connection.
class PipeStream final : public Stream {
 public:
  // Makes the stream of a client. REQUIRES: the handle was opened for overlapped I/O. Fails as
  // IoPort::Associate() does.
  static absl::StatusOr<std::unique_ptr<PipeStream>> Create(win32::UniqueHandle client);
  // Makes the stream of a server. Fails as IoPort::Associate() does. The stream's destructor
  // disconnects the client, unless DisconnectOnceRead() was called.
  static absl::StatusOr<std::unique_ptr<PipeStream>> Create(std::shared_ptr<ServerEnd> server);

  // Begins to wait for a client at the server's end, and completes as Read() does.
  bool Connect(Done done, void* argument, Result* result);

  const char* kind() const override { return "pipe"; }
  bool Read(void* buffer, DWORD size, Done done, void* argument, Result* result) override;
  bool Write(const void* data, DWORD size, Done done, void* argument, Result* result) override;
  void Cancel() override { CancelIoEx(handle_, nullptr); }

  // End the connection of a server's stream: Disconnect() immediately, the others once the client
  // has read everything (see ServerEnd). A client's connection ends when its stream is destroyed;
  // HangUp() only cancels its operations, and the others have no effect on it. Thread-safe.
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

  // Sets the tenant whose turns the operations use. REQUIRES: no operation is under way.
  void SetTenant(const void* tenant) { inward_.tenant = outward_.tenant = tenant; }

 private:
  PipeStream(HANDLE handle, win32::UniqueHandle client, std::shared_ptr<ServerEnd> server)
      : client_(std::move(client)), server_(std::move(server)), handle_(handle) {}
  bool CompletedSynchronously(BOOL ok, Operation* operation, Result* result);

  // Exactly one of `client_` and `server_` is set.
  const win32::UniqueHandle client_;
  const std::shared_ptr<ServerEnd> server_;
  const HANDLE handle_;
  Operation inward_;  // Connecting, then reading.
  Operation outward_;
};

}  // namespace csi_proxy::pipe
