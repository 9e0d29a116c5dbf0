#include "client/sidecars/driver.h"

#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/sidecars/registrar.h"
#include "client/sidecars/wire.pb.h"
#include "csi_proxy/steady_time.h"

namespace csi_proxy::sidecars {
namespace {

template <typename Request, typename Response>
absl::StatusOr<Response> Call(const SocketChannel& connection, const char* method,
                              SteadyTime deadline, const char* metadata = nullptr) {
  grpc::ClientContext context;
  if (metadata != nullptr) context.AddMetadata(metadata, "1");
  // gRPC takes a time of the wall clock and immediately converts it to its own steady clock.
  context.set_deadline(absl::ToChronoTime(
      absl::Now() + std::max(deadline - SteadyTime::Now(), absl::ZeroDuration())));
  Response response;
  const grpc::Status status =
      grpc::internal::BlockingUnaryCall<Request, Response, google::protobuf::MessageLite,
                                        google::protobuf::MessageLite>(
          connection.channel().get(),
          grpc::internal::RpcMethod(method, grpc::internal::RpcMethod::NORMAL_RPC), &context,
          Request(), &response);
  if (!status.ok()) {
    // At the deadline a Go server resets the stream, maybe before this process notices it.
    if (status.error_code() == grpc::StatusCode::CANCELLED && SteadyTime::Now() >= deadline) {
      return absl::DeadlineExceededError("it does not answer in time");
    }
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  }
  return response;
}

}  // namespace

absl::StatusOr<std::string> GetDriverName(const SocketChannel& driver, SteadyTime deadline) {
  const auto answer = Call<wire::GetPluginInfoRequest, wire::GetPluginInfoResponse>(
      driver, "/csi.v1.Identity/GetPluginInfo", deadline);
  if (!answer.ok()) return answer.status();
  if (answer->name().empty()) return absl::FailedPreconditionError("the driver has no name");
  return answer->name();
}

absl::StatusOr<bool> Probe(const SocketChannel& driver, SteadyTime deadline) {
  const auto answer =
      Call<wire::ProbeRequest, wire::ProbeResponse>(driver, kProbeMethod.data(), deadline);
  if (!answer.ok()) return answer.status();
  return !answer->has_ready() || answer->ready().value();
}

absl::StatusOr<std::string> GetRegisteredName(const SocketChannel& registration,
                                              SteadyTime deadline) {
  const auto answer = Call<wire::InfoRequest, wire::PluginInfo>(
      registration, "/pluginregistration.Registration/GetInfo", deadline, kHealthMetadata);
  if (!answer.ok()) return answer.status();
  return answer->name();
}

}  // namespace csi_proxy::sidecars
