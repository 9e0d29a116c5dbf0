#include <grpcpp/client_context.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/client_callback.h>

#include <chrono>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "client/remote_channel.h"

namespace csi_proxy::client {
namespace {

using google::protobuf::Message;

// How soon a call that its caller gave up is cancelled.
constexpr absl::Duration kCancellationPoll = absl::Milliseconds(10);

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

// Waits for the answer and looks for the caller meanwhile.
grpc::Status CallCancellable(grpc::ChannelInterface* channel,
                             const grpc::internal::RpcMethod& method, grpc::ClientContext* rpc,
                             const CallContext& context, const Message& request,
                             Message* response) {
  absl::Notification done;
  grpc::Status result;
  grpc::internal::CallbackUnaryCall<Message, Message, Message, Message>(
      channel, method, rpc, &request, response, [&](grpc::Status status) {
        result = std::move(status);
        done.Notify();
      });
  while (!done.WaitForNotificationWithTimeout(kCancellationPoll)) {
    if (!context.cancelled()) continue;
    rpc->TryCancel();
    done.WaitForNotification();
  }
  return result;
}

}  // namespace

absl::Status RemoteChannel::Call(const char* method, const CallContext& context,
                                 const Message& request, Message* response) {
  const absl::StatusOr<std::shared_ptr<grpc::Channel>> connected = Connected(context);
  if (!connected.ok()) return connected.status();
  const grpc::internal::RpcMethod rpc_method(method, grpc::internal::RpcMethod::NORMAL_RPC,
                                             *connected);
  grpc::ClientContext rpc;
  if (context.deadline() != absl::InfiniteFuture()) {
    rpc.set_deadline(absl::ToChronoTime(context.deadline()));
  }
  const grpc::Status status =
      context.cancellable()
          ? CallCancellable(connected->get(), rpc_method, &rpc, context, request, response)
          : grpc::internal::BlockingUnaryCall<Message, Message, Message, Message>(
                connected->get(), rpc_method, &rpc, request, response);
  // Both ends notice that the time has run out, or that the caller went away; whichever comes
  // first, the caller reads one text, in every mode.
  if (status.error_code() == grpc::DEADLINE_EXCEEDED || status.error_code() == grpc::CANCELLED) {
    if (absl::Status over = context.Check(); !over.ok()) return over;
  }
  return FromGrpc(status);
}

}  // namespace csi_proxy::client
