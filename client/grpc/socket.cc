#include "client/grpc/socket.h"

#include <afunix.h>
#include <mswsock.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "csi_proxy/steady_time.h"
#include "server/base/status_macros.h"

namespace csi_proxy::pipe {
namespace {

// The pause after a connection could not be accepted.
constexpr DWORD kTryAgainMs = 100;

// Starts Winsock. Never stops it, because connections live until gRPC releases them, even after
// main() has returned.
absl::Status StartWinsock() {
  static const int error = [] {
    WSADATA data;
    return WSAStartup(MAKEWORD(2, 2), &data);
  }();
  return error == 0 ? absl::OkStatus() : win32::ToStatus(static_cast<DWORD>(error), "WSAStartup");
}

DWORD LastSocketError() { return static_cast<DWORD>(WSAGetLastError()); }
absl::Status SocketError(absl::string_view what) {
  return win32::ToStatus(LastSocketError(), what);
}

absl::StatusOr<Socket> NewSocket(int family) {
  ABSL_RETURN_IF_ERROR(StartWinsock());
  Socket socket(WSASocketW(family, SOCK_STREAM, 0, nullptr, 0,
                           WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT));
  if (!socket.valid()) return SocketError("WSASocketW");
  return socket;
}

absl::Status SetBlocking(SOCKET socket, bool blocking) {
  u_long argument = blocking ? 0 : 1;
  // The value of FIONBIO is unsigned, but the parameter is not.
  if (ioctlsocket(socket, static_cast<long>(FIONBIO), &argument) != 0) {
    return SocketError("ioctlsocket");
  }
  return absl::OkStatus();
}

// Waits until a connection is made or has failed, at most until `deadline`. Returns the error or 0.
DWORD AwaitConnected(SOCKET socket, SteadyTime deadline) {
  while (true) {
    fd_set made, failed;
    FD_ZERO(&made);
    FD_ZERO(&failed);
    FD_SET(socket, &made);
    FD_SET(socket, &failed);
    const absl::Duration left =
        std::clamp(deadline - SteadyTime::Now(), absl::ZeroDuration(), absl::Seconds(60));
    timeval timeout{.tv_sec = static_cast<long>(absl::ToInt64Seconds(left)),
                    .tv_usec = static_cast<long>(absl::ToInt64Microseconds(left) % 1000000)};
    // Winsock reports a failure only in the set of exceptions
    // (https://learn.microsoft.com/windows/win32/api/winsock2/nf-winsock2-select).
    const int ready = select(0, nullptr, &made, &failed, &timeout);
    if (ready == SOCKET_ERROR) return LastSocketError();
    if (ready > 0) {
      int error = 0;
      int size = sizeof(error);
      if (getsockopt(socket, SOL_SOCKET, SO_ERROR, reinterpret_cast<char*>(&error), &size) != 0) {
        return LastSocketError();
      }
      if (error == 0 && FD_ISSET(socket, &failed)) return WSAECONNREFUSED;
      return static_cast<DWORD>(error);
    }
    if (SteadyTime::Now() >= deadline) return WSAETIMEDOUT;
  }
}

}  // namespace

absl::StatusOr<SocketAddress> UnixAddress(const std::string& path) {
  SocketAddress address;
  static_assert(sizeof(sockaddr_un) <= sizeof(address.storage));
  auto* const name = reinterpret_cast<sockaddr_un*>(&address.storage);
  if (path.empty() || path.size() >= sizeof(name->sun_path) ||
      path.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat("the path of a socket has between 1 and ",
                                                   sizeof(name->sun_path) - 1, " bytes, not ",
                                                   path.size(), ": ", path));
  }
  name->sun_family = AF_UNIX;
  std::memcpy(name->sun_path, path.data(), path.size());
  address.size = sizeof(sockaddr_un);
  return address;
}

absl::StatusOr<Socket> Bind(const SocketAddress& address) {
  absl::StatusOr<Socket> socket = NewSocket(address.family());
  if (!socket.ok()) return socket.status();
  if (bind(socket->get(), address.get(), address.size) != 0) return SocketError("bind");
  return socket;
}

// Connects without blocking and waits in select(), as curl, a part of Windows, does. Go connects
// Unix sockets by a call that blocks its thread (canUseConnectEx in
// https://github.com/golang/go/blob/master/src/net/fd_windows.go).
absl::StatusOr<Socket> Connect(const SocketAddress& address, SteadyTime deadline) {
  absl::StatusOr<Socket> socket = NewSocket(address.family());
  if (!socket.ok()) return socket.status();
  ABSL_RETURN_IF_ERROR(SetBlocking(socket->get(), false));
  if (connect(socket->get(), address.get(), address.size) != 0) {
    DWORD error = LastSocketError();
    if (error == WSAEWOULDBLOCK) error = AwaitConnected(socket->get(), deadline);
    if (error != 0) return win32::ToStatus(error, "connect");
  }
  ABSL_RETURN_IF_ERROR(SetBlocking(socket->get(), true));
  return socket;
}

absl::StatusOr<std::unique_ptr<SocketStream>> SocketStream::Create(Socket socket) {
  absl::Status watched = IoPort::Get().Associate(socket.handle(), IoPort::Completions::kAlways);
  if (!watched.ok()) return watched;
  return std::unique_ptr<SocketStream>(new SocketStream(std::move(socket)));
}

bool SocketStream::CompletedSynchronously(int returned, Result* result) {
  const DWORD error = returned == 0 ? DWORD{ERROR_SUCCESS} : LastSocketError();
  // An operation that succeeds immediately also completes through the port.
  if (error == ERROR_SUCCESS || error == WSA_IO_PENDING) return false;
  *result = {.error = error};
  return true;
}

// Neither the array of buffers nor the flags need outlive the call
// (https://learn.microsoft.com/windows/win32/api/winsock2/nf-winsock2-wsarecv).
bool SocketStream::Read(void* buffer, DWORD size, Done done, void* argument, Result* result) {
  inward_.Begin(done, argument);
  WSABUF piece{.len = size, .buf = static_cast<char*>(buffer)};
  DWORD flags = 0;
  return CompletedSynchronously(
      WSARecv(socket_.get(), &piece, 1, nullptr, &flags, &inward_, nullptr), result);
}

bool SocketStream::Write(const void* data, DWORD size, Done done, void* argument, Result* result) {
  outward_.Begin(done, argument);
  WSABUF piece{.len = size, .buf = static_cast<char*>(const_cast<void*>(data))};
  return CompletedSynchronously(WSASend(socket_.get(), &piece, 1, nullptr, 0, &outward_, nullptr),
                                result);
}

absl::StatusOr<std::unique_ptr<SocketListener>> SocketListener::Start(Socket bound, int family,
                                                                      Accepted accepted) {
  auto listener = std::unique_ptr<SocketListener>(
      new SocketListener(std::move(bound), family, std::move(accepted)));
  // Windows returns the address of AcceptEx at run time
  // (https://learn.microsoft.com/windows/win32/api/mswsock/nf-mswsock-acceptex).
  GUID wanted = WSAID_ACCEPTEX;
  DWORD bytes = 0;
  if (WSAIoctl(listener->socket_.get(), SIO_GET_EXTENSION_FUNCTION_POINTER, &wanted, sizeof(wanted),
               &listener->accept_ex_, sizeof(listener->accept_ex_), &bytes, nullptr,
               nullptr) != 0) {
    return SocketError("AcceptEx");
  }
  listener->stop_ = win32::UniqueHandle(CreateEventW(nullptr, TRUE, FALSE, nullptr));
  listener->came_ = win32::UniqueHandle(CreateEventW(nullptr, TRUE, FALSE, nullptr));
  if (!listener->stop_.valid() || !listener->came_.valid()) return win32::LastError("CreateEventW");
  if (listen(listener->socket_.get(), SOMAXCONN) != 0) return SocketError("listen");
  ABSL_ASSIGN_OR_RETURN(std::thread thread, StartThread([self = listener.get()] { self->Run(); }));
  listener->thread_ = std::move(thread);
  return listener;
}

SocketListener::~SocketListener() {
  if (!thread_.joinable()) return;
  SetEvent(stop_.get());
  thread_.join();
}

bool SocketListener::StopsWithin(DWORD milliseconds) const {
  return WaitForSingleObject(stop_.get(), milliseconds) == WAIT_OBJECT_0;
}

void SocketListener::Run() {
  while (!StopsWithin(0)) {
    absl::StatusOr<Socket> socket = Accept();
    if (socket.ok() && !socket->valid()) return;
    if (socket.ok()) {
      auto stream = SocketStream::Create(*std::move(socket));
      if (stream.ok()) {
        accepted_(*std::move(stream));
        continue;
      }
    }
    // Accepting fails if the client has already closed its end, or if memory is short.
    if (StopsWithin(kTryAgainMs)) return;
  }
}

absl::StatusOr<Socket> SocketListener::Accept() {
  absl::StatusOr<Socket> socket = NewSocket(family_);
  if (!socket.ok()) return socket.status();
  // Each address needs 16 bytes more than the longest address of its family.
  constexpr DWORD kAddressBytes = sizeof(sockaddr_storage) + 16;
  char addresses[2 * kAddressBytes];
  OVERLAPPED operation{};
  operation.hEvent = came_.get();
  DWORD bytes = 0;
  const auto accept_ex = reinterpret_cast<LPFN_ACCEPTEX>(accept_ex_);
  if (!accept_ex(socket_.get(), socket->get(), addresses, 0, kAddressBytes, kAddressBytes, &bytes,
                 &operation) &&
      LastSocketError() != ERROR_IO_PENDING) {
    return SocketError("AcceptEx");
  }
  const HANDLE either[] = {came_.get(), stop_.get()};
  const bool stopping = WaitForMultipleObjects(2, either, FALSE, INFINITE) != WAIT_OBJECT_0;
  if (stopping) CancelIoEx(socket_.handle(), &operation);
  // Waits for the end of the operation, even if cancelled, because it uses this call's variables.
  DWORD flags = 0;
  const bool came = WSAGetOverlappedResult(socket_.get(), &operation, &bytes, TRUE, &flags);
  if (stopping) return Socket();
  if (!came) return SocketError("AcceptEx");
  SOCKET listening = socket_.get();
  // Without this option, shutdown() treats the socket as not connected.
  if (setsockopt(socket->get(), SOL_SOCKET, SO_UPDATE_ACCEPT_CONTEXT,
                 reinterpret_cast<const char*>(&listening), sizeof(listening)) != 0) {
    return SocketError("SO_UPDATE_ACCEPT_CONTEXT");
  }
  return socket;
}

}  // namespace csi_proxy::pipe
