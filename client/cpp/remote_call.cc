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

// The longest time until a call that its caller gave up is cancelled.
constexpr absl::Duration kCancellationPoll = absl::Milliseconds(10);

// The time that gRPC has to end a call after its deadline, or after the call was cancelled.
constexpr absl::Duration kGrace = absl::Milliseconds(200);

// Waits for the end of a call and looks for its caller meanwhile. False when gRPC does not end it.
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
  // gRPC would end the process.
  if (request.ByteSizeLong() > std::numeric_limits<int>::max()) {
    return absl::InvalidArgumentError("the request is too large");
  }
  ABSL_ASSIGN_OR_RETURN(const std::shared_ptr<Link> link, Connect(context));
  auto call = std::make_unique<PendingCall>(link->channel(), method, context.deadline(), request,
                                            *response);
  if (!WaitForEnd(*call, context)) {
    link->Abandon(std::move(call));
    absl::Status over = context.Check();
    return over.ok() ? absl::DeadlineExceededError("the call has not ended in time") : over;
  }
  const grpc::Status& status = call->status();
  // Both ends notice that the time has run out, or that the caller went away; whichever comes
  // first, the caller reads one text, in every mode.
  if (status.error_code() == grpc::DEADLINE_EXCEEDED || status.error_code() == grpc::CANCELLED) {
    ABSL_RETURN_IF_ERROR(context.Check());
  }
  if (status.ok()) response->GetReflection()->Swap(response, &call->answer());
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace csi_proxy::client
