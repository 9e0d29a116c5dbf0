#include "server/rpc/pipe_server.h"

#include <grpc/grpc.h>
#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/health_check_service_interface.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "server/rpc/reflection.h"

namespace csi_proxy::rpc {

absl::StatusOr<std::unique_ptr<PipeServer>> PipeServer::Create(
    std::string name, std::string full_name, std::unique_ptr<grpc::Service> service,
    const ServerLimits& limits) {
  [[maybe_unused]] static const bool prepared = [] {
    // Without this gRPC 1.51 shuts down with the last server, and waits for a thread of its own
    // that may be in a poll of ten seconds (src/core/lib/iomgr/tcp_posix.cc, run_poller): a stop
    // would be late.
    grpc_init();
    grpc::EnableDefaultHealthCheckService(true);
    return true;
  }();
  auto pipe = std::unique_ptr<PipeServer>(
      new PipeServer(std::move(name), std::move(service), NewReflectionService(full_name)));
  grpc::ServerBuilder builder;
  builder.RegisterService(pipe->service_.get());
  builder.RegisterService(pipe->reflection_.get());
  BoundMemory(&builder);
  builder.SetMaxReceiveMessageSize(limits.max_request_bytes);
  // gRPC 1.51 inflates a message without a limit, on the thread that reads (grpc_msg_decompress in
  // message_decompress_filter.cc): a kilobyte would cost a megabyte. Compressed calls are
  // answered UNIMPLEMENTED instead, and nothing is left that could inflate one.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  for (const grpc_compression_algorithm algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
    builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
  }
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, limits.max_calls_per_connection);
  // Within a machine there is no bandwidth to measure, and measuring costs pings.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, limits.max_metadata_bytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                             static_cast<int>(absl::ToInt64Milliseconds(limits.idle_timeout)));
  pipe->server_ = builder.BuildAndStart();
  if (pipe->server_ == nullptr) {
    return absl::InternalError(absl::StrCat("gRPC did not start a server for ", pipe->name_));
  }
  pipe->server_->GetHealthCheckService()->SetServingStatus(full_name, true);
  return pipe;
}

PipeServer::~PipeServer() { Shutdown(); }

void PipeServer::Shutdown() {
  if (grpc::HealthCheckServiceInterface* health = server_->GetHealthCheckService()) {
    health->SetServingStatus(false);
  }
  server_->Shutdown(std::chrono::system_clock::now());
}

}  // namespace csi_proxy::rpc
