#include "server/rpc/grpc_service.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/steady_time.h"
#include "server/rpc/call.h"
#include "server/rpc/connection_table.h"

namespace csi_proxy::rpc {
namespace {

using google::protobuf::MessageLite;

// A call ends at most this long before its client's deadline, so that the error, which names what
// the call waited for, reaches the client in time.
constexpr absl::Duration kForTheAnswer = absl::Milliseconds(250);

grpc::Status ToGrpcStatus(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

// Converts a deadline, which is a time of gRPC's steady clock. Does not convert through the wall
// clock, because the result would change when that clock steps, and would overflow for a deadline
// after 2262, which grpc-go can send.
SteadyTime ToTime(gpr_timespec deadline) {
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) {
    return SteadyTime::InfiniteFuture();
  }
  const gpr_timespec left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  return SteadyTime::Now() + absl::Seconds(left.tv_sec) + absl::Nanoseconds(left.tv_nsec);
}

// Returns the caller's `traceparent`, unchecked; empty unless there is exactly one.
absl::string_view TraceparentOf(const grpc::CallbackServerContext& context) {
  const auto [begin, end] = context.client_metadata().equal_range("traceparent");
  if (begin == end || std::next(begin) != end) return "";
  return {begin->second.data(), begin->second.size()};
}

// One rpc from its arrival to its answer: gRPC's callback reactor on one side, a plain function on
// the other. Deletes itself.
class UnaryCall final : public grpc::ServerUnaryReactor, public Task, public InlineCalls::Call {
 public:
  // REQUIRES: `waited` outlives the call. `request` and `*response` live until the rpc is answered,
  // as gRPC's callback API ensures.
  UnaryCall(const Deps& deps, const UnaryMethod& method, std::atomic<bool>* waited, void* api,
            grpc::CallbackServerContext* context, const grpc::ByteBuffer& request,
            grpc::ByteBuffer* response)
      : deps_(deps),
        method_(method),
        waited_(*waited),
        api_(api),
        grpc_context_(context),
        request_(request),
        response_(response),
        connection_(deps.connections->Find(context->peer())),
        call_(deps, *method.info,
              CallContext(ToTime(context->raw_deadline()), &cancelled_,
                          connection_ != nullptr ? &connection_->client()->peer : nullptr,
                          method.info->pipe)
                  .Leaving(10, kForTheAnswer)
                  .Traced(TraceparentOf(*context))) {
    if (connection_ != nullptr) connection_->BeginCall();
  }

  // Queues the call, or answers it at once if the queue is full.
  void Start() {
    if (connection_ == nullptr) {
      // No client waits for the answer, and the call cannot be charged to a client any more.
      Answer(absl::CancelledError("the connection has ended"));
      return;
    }
    entered_ = deps_.gate->Enter();
    if (!entered_) {
      Answer(absl::UnavailableError("the service is stopping"));
      return;
    }
    const std::shared_ptr<Client>& client = connection_->client();
    if (!client->TakeBytes(request_.Length())) {
      RefuseForShare(absl::ResourceExhaustedError(
          absl::StrCat("the requests of this client's tenant that are under way have more than ",
                       Client::kMaxRequestBytes, " bytes; try again later")));
      return;
    }
    bytes_taken_ = request_.Length();
    std::shared_ptr<TenantQueue> queue(client->tenant,
                                       &client->tenant->queues[deps_.executor_index]);
    if (TryRunInline(queue)) return;
    bool client_is_at_limit;
    // The call may be over before Submit() returns, because it runs on another thread.
    const absl::Status queued = deps_.executor->Submit(this, std::move(queue), &client_is_at_limit);
    if (queued.ok()) return;
    if (client_is_at_limit) {
      RefuseForShare(queued);
    } else {
      Answer(queued);
    }
  }

 private:
  // Refuses the call because its client has used its share.
  void RefuseForShare(const absl::Status& status) {
    ReportLimit(deps_.observers, *connection_->client(), Limit::kCalls);
    connection_->client()->CountRefusedCall();
    Answer(status);
  }

  // Runs the call on this thread, which is gRPC's, and returns true; or returns false if the call
  // must be queued. The call is deleted only after this thread has returned to gRPC.
  bool TryRunInline(std::shared_ptr<TenantQueue> queue) {
    InlineCalls* const inline_calls = deps_.inline_calls;
    if (!method_.info->reads || waited_.load(std::memory_order_relaxed) ||
        !inline_calls->TryBegin(this)) {
      return false;
    }
    const bool done = deps_.executor->TryRun(this, std::move(queue));
    inline_calls->End(this);
    return done;
  }
  bool IsCancelled() const override { return grpc_context_->IsCancelled(); }
  void Cancel() override { cancelled_.Notify(); }

  void Run(TaskSlot* slot) override {
    const absl::Status status =
        call_.Run(slot, [this](const CallContext& context) { return Execute(context); });
    if (method_.info->reads) waited_.store(slot->has_waited(), std::memory_order_relaxed);
    Answer(status);
  }

  absl::Status Execute(const CallContext& context) {
    // The const_cast is safe, because the reader does not write to the buffer.
    grpc::ProtoBufferReader reader(const_cast<grpc::ByteBuffer*>(&request_));
    return CallWithBytes(
        method_, api_, context, reader.status().ok() ? &reader : nullptr,
        [this](const MessageLite& response) {
          bool owns_bytes = false;
          const grpc::Status written = grpc::GenericSerialize<grpc::ProtoBufferWriter, MessageLite>(
              response, response_, &owns_bytes);
          return written.ok() ? absl::OkStatus() : absl::InternalError(written.error_message());
        });
  }

  void OnCancel() override {
    if (!cancelled_.HasBeenNotified()) cancelled_.Notify();
  }

  void OnDone() override {
    // The call must not leave earlier: a stop may close the connection once the last call has left.
    if (entered_) deps_.gate->Leave();
    if (connection_ != nullptr) {
      connection_->client()->GiveBack(bytes_taken_);
      connection_->EndCall();
    }
    delete this;
  }

  // OnCancel() and OnDone() only set a flag and free memory. Without this, gRPC 1.51 hands each of
  // them to a thread of its own, which costs every call a wake-up.
  bool InternalInlineable() override { return true; }

  void Answer(const absl::Status& status) {
    // Finish() may delete the call before it returns, so no member is touched from here on.
    Finish(ToGrpcStatus(call_.End(status)));
  }

  const Deps& deps_;
  const UnaryMethod& method_;
  // True if the method's last call waited for WMI or a server. The next one must not run on a
  // thread that reads, because the connections of all clients share those threads.
  std::atomic<bool>& waited_;
  void* const api_;
  grpc::CallbackServerContext* const grpc_context_;
  const grpc::ByteBuffer& request_;
  grpc::ByteBuffer* const response_;
  const std::shared_ptr<ServedConnection> connection_;  // null: it has ended already
  size_t bytes_taken_ = 0;                              // charged to the client
  absl::Notification cancelled_;
  const ServedCall call_;
  bool entered_ = false;
};

// Replaces the class that gRPC's plugin writes for a service whose callback methods are all raw.
class Service final : public grpc::Service {
 public:
  Service(absl::Span<const UnaryMethod> methods, std::shared_ptr<void> api, const Deps* deps)
      : api_(std::move(api)), waited_(methods.size()) {
    using Handler = grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer, grpc::ByteBuffer>;
    for (size_t i = 0; i < methods.size(); ++i) {
      const UnaryMethod& method = methods[i];
      AddMethod(new grpc::internal::RpcServiceMethod(
          method.info->path, grpc::internal::RpcMethod::NORMAL_RPC, nullptr));
      MarkMethodRawCallback(
          static_cast<int>(i),
          new Handler([deps, &method, waited = &waited_[i], api = api_.get()](
                          grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                          grpc::ByteBuffer* response) {
            auto* const call =
                new UnaryCall(*deps, method, waited, api, context, *request, response);
            call->Start();
            return call;
          }));
    }
  }

 private:
  const std::shared_ptr<void> api_;
  std::vector<std::atomic<bool>> waited_;  // by method
};

}  // namespace

std::unique_ptr<grpc::Service> NewGrpcService(absl::Span<const UnaryMethod> methods,
                                              std::shared_ptr<void> api, const Deps* deps) {
  return std::make_unique<Service>(methods, std::move(api), deps);
}

}  // namespace csi_proxy::rpc
