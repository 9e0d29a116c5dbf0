#include "server/rpc/pipe_server.h"

#include <grpc/grpc.h>
#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/health_check_service_interface.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/rpc/reflection.h"

namespace csi_proxy::rpc {

PipeServer::PipeServer(std::string name, std::string full_name,
                       std::unique_ptr<grpc::Service> service, const ServerLimits& limits)
    : name_(std::move(name)),
      full_name_(std::move(full_name)),
      limits_(limits),
      service_(std::move(service)),
      reflection_(NewReflectionService(full_name_)) {}

absl::StatusOr<std::unique_ptr<PipeServer>> PipeServer::Create(
    std::string name, std::string full_name, std::unique_ptr<grpc::Service> service,
    const ServerLimits& limits) {
  [[maybe_unused]] static const bool prepared = [] {
    // Without this, gRPC 1.51 shuts down with the last server and waits for its own thread, which
    // may be in a poll of ten seconds (src/core/lib/iomgr/tcp_posix.cc, run_poller): a stop would
    // be late.
    grpc_init();
    grpc::EnableDefaultHealthCheckService(true);
    return true;
  }();
  auto pipe = std::unique_ptr<PipeServer>(
      new PipeServer(std::move(name), std::move(full_name), std::move(service), limits));
  pipe->server_ = pipe->NewServer(limits.calls_of_main_connection);
  if (pipe->server_ == nullptr) {
    return absl::InternalError(absl::StrCat("gRPC did not start a server for ", pipe->name_));
  }
  return pipe;
}

std::unique_ptr<grpc::Server> PipeServer::NewServer(int calls) {
  grpc::ServerBuilder builder;
  builder.RegisterService(service_.get());
  builder.RegisterService(reflection_.get());
  BoundMemory(&builder);
  builder.SetMaxReceiveMessageSize(limits_.max_request_bytes);
  // gRPC 1.51 inflates a message without a limit, on the thread that reads (grpc_msg_decompress in
  // message_decompress_filter.cc): a kilobyte would cost a megabyte. Without decompression,
  // compressed calls are answered UNIMPLEMENTED.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  for (const grpc_compression_algorithm algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
    builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
  }
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, calls);
  // Within a machine there is no bandwidth to measure, and measuring costs pings.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, limits_.max_metadata_bytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                             static_cast<int>(absl::ToInt64Milliseconds(limits_.idle_timeout)));
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server != nullptr) server->GetHealthCheckService()->SetServingStatus(full_name_, true);
  return server;
}

void PipeServer::Serve(std::unique_ptr<ReadyConnection> connection, bool is_main) {
  grpc::Server* server = server_.get();
  if (!is_main) {
    const MutexLock lock(mutex_);
    // Channel arguments belong to a server, so another number of calls needs another server.
    if (further_ == nullptr) further_ = NewServer(limits_.calls_of_further_connection);
    if (further_ != nullptr) server = further_.get();
  }
  connection->Serve(server);
}

PipeServer::~PipeServer() { Shutdown(); }

void PipeServer::Shutdown() {
  const MutexLock lock(mutex_);
  for (grpc::Server* const server : {server_.get(), further_.get()}) {
    if (server == nullptr) continue;
    if (grpc::HealthCheckServiceInterface* health = server->GetHealthCheckService()) {
      health->SetServingStatus(false);
    }
    server->Shutdown(std::chrono::system_clock::now());
  }
}

}  // namespace csi_proxy::rpc
