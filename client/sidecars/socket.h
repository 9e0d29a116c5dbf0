// gRPC over Unix sockets, on Linux and Windows.
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
#include "csi_proxy/steady_time.h"

namespace csi_proxy::sidecars {

// Returns the path in a CSI driver's address: `/csi/csi.sock`, `unix:///csi/csi.sock` or
// `unix:/csi/csi.sock`, or, as drivers on Windows write it, `unix://C:\csi\csi.sock`.
// INVALID_ARGUMENT for other kinds of addresses.
absl::StatusOr<std::string> SocketPath(absl::string_view address);

// Returns true if a socket exists at the path. FAILED_PRECONDITION if the path is not a socket's.
absl::StatusOr<bool> SocketExists(const std::string& path);

// Returns "" if a file exists at the path or cannot be looked at. Otherwise returns words for an
// error. They say that the path does not exist, and name at most five sockets (`*.sock`) in and
// around its folder, such as those of other drivers below the kubelet's `plugins`.
std::string DescribeMissing(const std::string& path);

// Removes a socket of an earlier process. OK if the path does not exist.
absl::Status RemoveSocket(const std::string& path);

// A gRPC server on a socket that it creates. Only this process's user may connect; on Windows also
// administrators and SYSTEM, the kubelet's account. Thread-safe.
class SocketServer {
 public:
  // `service` is not owned and must outlive the server. UNAVAILABLE naming the path on failure.
  static absl::StatusOr<std::unique_ptr<SocketServer>> Listen(std::string path,
                                                              grpc::Service* service);
  // Ends the calls under way, and removes the socket if in_place().
  virtual ~SocketServer() = default;

  // Returns true if this server created the file at the path. Returns an error if the path cannot
  // be checked.
  virtual absl::StatusOr<bool> in_place() const = 0;

 protected:
  SocketServer() = default;
};

// A connection that is not shared. Ends with the object, or after the other end has sent more than
// kMostReceived bytes. The limit is needed because gRPC 1.51 buffers an endless header block
// (CVE-2023-33953); a driver's answers are short.
class SocketChannel {
 public:
  static constexpr size_t kMostReceived = 256 << 10;

  // Connects. UNAVAILABLE if no server accepts by `deadline`. A server that does not speak HTTP/2
  // may only be noticed at the first call.
  static absl::StatusOr<std::unique_ptr<SocketChannel>> Connect(const std::string& path,
                                                                SteadyTime deadline);
  virtual ~SocketChannel() = default;

  virtual const std::shared_ptr<grpc::Channel>& channel() const = 0;

 protected:
  SocketChannel() = default;
};

}  // namespace csi_proxy::sidecars
