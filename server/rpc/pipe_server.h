// The gRPC server behind one pipe: one released service, health and reflection, nothing else. A
// pod is given single pipes, so a connection to one must not reach the services of another.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/base/condition.h"
#include "server/rpc/listener.h"

namespace csi_proxy::rpc {

struct ServerLimits {
  // The largest request, in bytes. The longest that a released rpc needs is a new SMB mapping or
  // symbolic link with two paths: a path has at most 32,767 UTF-16 units, each up to three bytes in
  // UTF-8, which makes 196,602 bytes; a user's name and a password add 3 KB at most.
  int max_request_bytes = 256 << 10;
  // The most calls under way on a client's main connection, and on each further one
  // (SETTINGS_MAX_CONCURRENT_STREAMS). HTTP/2 holds back the rest at the client. A group must have
  // room for the calls of a client with 16 connections, so that it refuses no such client.
  int calls_of_main_connection = 108;
  int calls_of_further_connection = 12;
  // The largest header block, in bytes.
  int max_metadata_bytes = 16 << 10;
  // A connection without calls for this time is closed; clients redial by themselves.
  absl::Duration idle_timeout = absl::Hours(1);
};

// Limits gRPC's buffers where no Http2Guard precedes gRPC. Defined per platform, like
// ReadingThreads().
void BoundMemory(grpc::ServerBuilder* builder);

// Returns the number of threads that read connections and call a server's methods.
size_t ReadingThreads();

// Sends the frames that connections hold back to send them with the next answer. Thread-safe.
void SendHeldFrames();

// Thread-safe.
class PipeServer {
 public:
  // Makes the server. `full_name` must be the service's name in the rpc's path: `v1.Volume`.
  // Returns INTERNAL if gRPC does not start.
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

  // Starts a server that allows `calls` under way on a connection; returns null if gRPC fails.
  std::unique_ptr<grpc::Server> NewServer(int calls);

  const std::string name_;
  const std::string full_name_;
  const ServerLimits limits_;
  const std::unique_ptr<grpc::Service> service_;
  const std::unique_ptr<grpc::Service> reflection_;
  // The servers of main and of further connections. `further_` is null until there is one.
  std::unique_ptr<grpc::Server> server_;
  Mutex mutex_;
  std::unique_ptr<grpc::Server> further_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::rpc
