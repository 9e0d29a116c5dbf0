#include <google/protobuf/message.h>

#include <algorithm>
#include <limits>

#include "absl/time/clock.h"
#include "client/cpp/link.h"
#include "client/cpp/remote_channel.h"
#include "server/base/status_macros.h"

namespace csi_proxy::client {
namespace {

using google::protobuf::Message;

// How often a waiting call checks whether its caller has cancelled it.
constexpr absl::Duration kCancellationPoll = absl::Milliseconds(10);

// How long gRPC may take to end a call after its deadline or its cancellation.
constexpr absl::Duration kGrace = absl::Milliseconds(200);

// Waits for the end of a call, and passes on a cancellation. Returns false if gRPC does not end it.
bool WaitForEnd(PendingCall& call, const CallContext& context) {
  absl::Time give_up = context.deadline() + kGrace;
  bool cancelled = false;
  while (true) {
    const bool watching = context.cancellable() && !cancelled;
    if (call.Wait(watching ? std::min(give_up, absl::Now() + kCancellationPoll) : give_up)) {
      return true;
    }
    if (absl::Now() >= give_up) return false;
    if (watching && context.cancelled()) {
      call.Cancel();
      cancelled = true;
      give_up = std::min(give_up, absl::Now() + kGrace);
    }
  }
}

}  // namespace

absl::Status RemoteChannel::Call(const char* method, const CallContext& context,
                                 const Message& request, Message* response) {
  // gRPC would abort the process on a larger request.
  if (request.ByteSizeLong() > std::numeric_limits<int>::max()) {
    return absl::InvalidArgumentError("the request is too large");
  }
  ABSL_ASSIGN_OR_RETURN(const std::shared_ptr<Link> link, Connect(context));
  auto call = std::make_unique<PendingCall>(link->channel(), method, context, request, *response);
  if (!WaitForEnd(*call, context)) {
    link->Abandon(std::move(call));
    absl::Status over = context.Check();
    return over.ok() ? absl::DeadlineExceededError("the call has not ended in time") : over;
  }
  const grpc::Status& status = call->status();
  // The server may notice a deadline or a cancellation before this process. The caller always gets
  // the text of CallContext::Check(), as in embedded mode.
  if (status.error_code() == grpc::DEADLINE_EXCEEDED || status.error_code() == grpc::CANCELLED) {
    ABSL_RETURN_IF_ERROR(context.Check());
  }
  if (status.error_code() == grpc::UNAVAILABLE && !call->IsAnswer()) {
    return NotReached(status.error_message());
  }
  if (status.ok()) response->GetReflection()->Swap(response, &call->answer());
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace csi_proxy::client
