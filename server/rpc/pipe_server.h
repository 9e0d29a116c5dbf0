// The gRPC server behind one pipe: one released service, health and reflection, nothing else. A
// pod is given single pipes, so a connection to one must not reach the services of another.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/rpc/listener.h"

namespace csi_proxy::rpc {

struct ServerLimits {
  // The largest request taken, in bytes. The longest that a released rpc takes is a new SMB mapping
  // or symbolic link with two paths: a path has at most 32,767 UTF-16 units, each up to three bytes
  // in UTF-8, which makes 196,602 bytes; a user's name and a password add 3 KB at most.
  int max_request_bytes = 256 << 10;
  // The calls that the main connection of a client may have under way, and each further one
  // (SETTINGS_MAX_CONCURRENT_STREAMS). HTTP/2 holds back the rest at the client. A group must have
  // room for those of a client with 16 connections, so that it refuses none that keeps to this.
  int calls_of_main_connection = 108;
  int calls_of_further_connection = 12;
  // The largest header block, in bytes.
  int max_metadata_bytes = 16 << 10;
  // A connection without calls for this time is closed; clients redial on their own.
  absl::Duration idle_timeout = absl::Hours(1);
};

// Bounds what gRPC keeps of connections, where no guard stands before it that does. For each
// platform, as the next.
void BoundMemory(grpc::ServerBuilder* builder);

// The number of threads that read connections, and call a server's methods.
size_t ReadingThreads();

// Connections may hold frames back that need not be sent before the call under way has its answer.
// Sends them now. Thread-safe.
void SendHeldFrames();

// Thread-safe.
class PipeServer {
 public:
  // `full_name` is the service's, as in the rpc's path: `v1.Volume`. INTERNAL when gRPC does not
  // start.
  static absl::StatusOr<std::unique_ptr<PipeServer>> Create(std::string name, std::string full_name,
                                                            std::unique_ptr<grpc::Service> service,
                                                            const ServerLimits& limits);
  ~PipeServer();

  const std::string& name() const { return name_; }

  void Serve(std::unique_ptr<ReadyConnection> connection, bool is_main);

  // Refuses new calls, cancels those under way and closes the connections. Idempotent.
  void Shutdown();

 private:
  PipeServer(std::string name, std::string full_name, std::unique_ptr<grpc::Service> service,
             const ServerLimits& limits);

  // Starts a server whose connections may have `calls` under way; null when gRPC does not.
  std::unique_ptr<grpc::Server> NewServer(int calls);

  const std::string name_;
  const std::string full_name_;
  const ServerLimits limits_;
  const std::unique_ptr<grpc::Service> service_;
  const std::unique_ptr<grpc::Service> reflection_;
  // For main connections, and for further ones. The latter is null until there is one.
  std::unique_ptr<grpc::Server> server_;
  std::mutex mutex_;
  std::unique_ptr<grpc::Server> further_;  // guarded by mutex_
};

}  // namespace csi_proxy::rpc
