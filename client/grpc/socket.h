// Winsock's stream sockets. They include Unix sockets since Windows 1803 and Server 2019
// (https://devblogs.microsoft.com/commandline/af_unix-comes-to-windows/). Only UnixAddress() is for
// Unix sockets: tests use TCP, because Wine 8 lacks Unix sockets. This file does not use gRPC.
#pragma once

#include <winsock2.h>
// Must follow winsock2.h.
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"
#include "server/base/start_thread.h"
#include "server/pipe/stream.h"
#include "server/platform/win32.h"

namespace csi_proxy::pipe {

// The address of a socket.
struct SocketAddress {
  sockaddr_storage storage{};
  int size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

// Returns the address of a path in UTF-8 of at most 107 bytes (afunix.h). INVALID_ARGUMENT if the
// path is longer, is empty or contains a NUL, because on Windows all names are in the file system.
absl::StatusOr<SocketAddress> UnixAddress(const std::string& path);

// Owns a socket.
class Socket {
 public:
  Socket() = default;
  explicit Socket(SOCKET socket) : socket_(socket) {}
  Socket(Socket&& other) noexcept : socket_(std::exchange(other.socket_, INVALID_SOCKET)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(socket_, other.socket_);
    return *this;
  }
  ~Socket() {
    if (valid()) closesocket(socket_);
  }

  bool valid() const { return socket_ != INVALID_SOCKET; }
  SOCKET get() const { return socket_; }
  HANDLE handle() const { return reinterpret_cast<HANDLE>(socket_); }

 private:
  SOCKET socket_ = INVALID_SOCKET;
};

// Returns a socket that is bound but does not listen, so connections are refused. For a Unix
// address, creates the file. REQUIRES: the file does not exist.
absl::StatusOr<Socket> Bind(const SocketAddress& address);

// Returns a connected socket. Fails at `deadline`, also if the listener's queue is full.
absl::StatusOr<Socket> Connect(const SocketAddress& address, SteadyTime deadline);

// A connected socket. A read fails with ERROR_HANDLE_EOF after the other end has closed in order,
// otherwise with another error. The destructor may lose bytes that the other end has not read.
class SocketStream final : public Stream {
 public:
  // Takes over a connected socket. Fails if the IoPort cannot receive the socket's completions.
  static absl::StatusOr<std::unique_ptr<SocketStream>> Create(Socket socket);

  const char* kind() const override { return "socket"; }
  bool Read(void* buffer, DWORD size, Done done, void* argument, Result* result) override;
  bool Write(const void* data, DWORD size, Done done, void* argument, Result* result) override;
  void Cancel() override { CancelIoEx(socket_.handle(), nullptr); }
  void Disconnect() override {
    shutdown(socket_.get(), SD_BOTH);
    Cancel();
  }
  // Ends the connection. The other end reads all bytes that were sent, then the end.
  void HangUp() override {
    Cancel();
    shutdown(socket_.get(), SD_SEND);
  }

 private:
  // Winsock reports the end of a connection by a read of zero bytes
  // (https://learn.microsoft.com/windows/win32/api/winsock2/nf-winsock2-wsarecv).
  struct Reading : Operation {
    Reading() : Operation(&Reading::End) {}
    static void End(IoOperation* operation, DWORD error, DWORD bytes) {
      const bool is_end = error == ERROR_SUCCESS && bytes == 0;
      Operation::End(operation, is_end ? DWORD{ERROR_HANDLE_EOF} : error, bytes);
    }
  };

  explicit SocketStream(Socket socket) : socket_(std::move(socket)) {}
  static bool CompletedSynchronously(int returned, Result* result);

  const Socket socket_;
  Reading inward_;
  Operation outward_;
};

// Accepts connections until destroyed.
class SocketListener {
 public:
  using Accepted = std::function<void(std::unique_ptr<Stream>)>;

  // Starts a thread that calls `accepted` for each connection.
  static absl::StatusOr<std::unique_ptr<SocketListener>> Start(Socket bound, int family,
                                                               Accepted accepted);
  // Stops the thread. `accepted` is not called afterwards; accepted connections stay open.
  ~SocketListener();

 private:
  SocketListener(Socket socket, int family, Accepted accepted)
      : socket_(std::move(socket)), family_(family), accepted_(std::move(accepted)) {}
  void Run();
  // Returns the next connection, an error, or an invalid socket after a stop.
  absl::StatusOr<Socket> Accept();
  bool StopsWithin(DWORD milliseconds) const;

  const Socket socket_;
  const int family_;
  const Accepted accepted_;
  void* accept_ex_ = nullptr;
  win32::UniqueHandle stop_, came_;
  std::thread thread_;
};

}  // namespace csi_proxy::pipe
