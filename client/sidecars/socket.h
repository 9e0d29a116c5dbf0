// Unix sockets with gRPC over them, on Linux and on Windows.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/impl/codegen/service_type.h>

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace csi_proxy::sidecars {

// The path in the address of a CSI driver: `/csi/csi.sock`, `unix:///csi/csi.sock` or
// `unix:/csi/csi.sock`; with `unix://C:\csi\csi.sock`, which is how drivers on Windows write it,
// `C:\csi\csi.sock`. INVALID_ARGUMENT for addresses of other kinds.
absl::StatusOr<std::string> SocketPath(absl::string_view address);

// Tells whether there is a socket. FAILED_PRECONDITION if the path is of something else.
absl::StatusOr<bool> SocketExists(const std::string& path);

// Removes a socket that an earlier process has left; OK if there is nothing.
absl::Status RemoveSocket(const std::string& path);

// A gRPC server on a socket that it makes, for the process's user alone; on Windows for SYSTEM, as
// which the kubelet runs, and the administrators as well. Thread-safe.
class SocketServer {
 public:
  // `service` is not owned. UNAVAILABLE naming the path if it cannot be listened on.
  static absl::StatusOr<std::unique_ptr<SocketServer>> Listen(std::string path,
                                                              grpc::Service* service);
  // Ends the calls under way, and removes the socket if it is still this server's.
  virtual ~SocketServer() = default;

  // Tells whether the file at the path is still this server's own, and not gone or another's.
  virtual bool in_place() const = 0;

 protected:
  SocketServer() = default;
};

// A connection of its own, which ends with the object, or once the other end has sent kMostReceived
// bytes: gRPC 1.51 buffers an endless header block (CVE-2023-33953), and a driver's answers are
// short.
class SocketChannel {
 public:
  static constexpr size_t kMostReceived = 256 << 10;

  // Tries until `deadline`. UNAVAILABLE if nobody lets it in until then. The first call may be the
  // first to show whether the other end speaks HTTP/2.
  static absl::StatusOr<std::unique_ptr<SocketChannel>> Connect(const std::string& path,
                                                                absl::Time deadline);
  virtual ~SocketChannel() = default;

  virtual const std::shared_ptr<grpc::Channel>& channel() const = 0;

 protected:
  SocketChannel() = default;
};

}  // namespace csi_proxy::sidecars
