#include "server/rpc/grpc_service.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/steady_time.h"
#include "server/base/secret.h"
#include "server/calls/call.h"

namespace csi_proxy::rpc {
namespace {

using google::protobuf::MessageLite;

// A call ends at most this long before its client's deadline, so that the error reaches the client
// in time and can say what the call waited for.
constexpr absl::Duration kForTheAnswer = absl::Milliseconds(250);

// A method of a service.
struct Method {
  const UnaryMethod* const method;
  // True if the method's last call waited for Windows, a server or a lock. Its next call must not
  // run on a reading thread, because the connections of all clients share these threads.
  mutable std::atomic<bool> waited = false;
};

// One call from its request to its answer. Deletes itself.
class UnaryCall final : public Task, public transport::Connection::Canceller {
 public:
  // REQUIRES: `deps`, `method` and `api` outlive the call.
  UnaryCall(const CallDeps& deps, const Method& method, void* api, RemoteCall remote)
      : deps_(deps),
        method_(method),
        info_(*method.method->info),
        api_(api),
        remote_(std::move(remote)),
        call_(deps, info_,
              CallContext(SteadyTime::Now() + remote_.request.timeout, &cancelled_,
                          &remote_.served->client()->peer, info_.pipe)
                  .Leaving(10, kForTheAnswer)
                  .Traced(remote_.request.traceparent)) {
    remote_.served->BeginCall();
  }

  // Runs or queues the call, or answers it immediately with an error.
  void Start() {
    if (!remote_.connection->Register(remote_.request.call, this)) {
      return Answer(absl::CancelledError("the client does not wait any more"));
    }
    entered_ = deps_.gate->Enter();
    if (!entered_) return Answer(absl::UnavailableError("the service is stopping"));
    Client& client = *remote_.served->client();
    const size_t bytes = remote_.request.message.size();
    if (!client.TakeBytes(bytes)) {
      return RefuseForShare(absl::ResourceExhaustedError(
          absl::StrCat("the requests of this client's tenant that are under way have more than ",
                       Client::kMaxRequestBytes, " bytes; try again later")));
    }
    bytes_taken_ = bytes;
    std::shared_ptr<TenantQueue> queue(client.tenant, &client.tenant->queues[deps_.executor_index]);
    if (TryRunInline(queue)) return;
    bool client_is_at_limit;
    // The call may be over before Submit() returns, because another thread runs it.
    const absl::Status queued = deps_.executor->Submit(this, std::move(queue), &client_is_at_limit);
    if (queued.ok()) return;
    if (client_is_at_limit) {
      RefuseForShare(queued);
    } else {
      Answer(queued);
    }
  }

 private:
  ~UnaryCall() {
    if (info_.has_secrets) Wipe(remote_.request.message);
    remote_.served->client()->GiveBack(bytes_taken_);
    remote_.served->EndCall();
    // Must be last: after the last Leave() a stop releases the objects that calls use.
    if (entered_) deps_.gate->Leave();
  }

  // Refuses the call because its client has used its part.
  void RefuseForShare(const absl::Status& status) {
    ReportLimit(deps_.observers, *remote_.served->client(), Limit::kCalls);
    remote_.served->client()->CountRefusedCall();
    Answer(status);
  }

  // Runs the call on this reading thread and returns true, or returns false if it must be queued.
  bool TryRunInline(std::shared_ptr<TenantQueue> queue) {
    if (!remote_.may_block || !info_.reads || method_.waited.load(std::memory_order_relaxed) ||
        !deps_.inline_calls->TryBegin()) {
      return false;
    }
    is_inline_ = true;
    const bool done = deps_.executor->TryRun(this, std::move(queue));
    deps_.inline_calls->End();
    is_inline_ = false;
    if (done) delete this;
    return done;
  }

  void Cancel() override { cancelled_.Notify(); }

  void Run(TaskSlot* slot) override {
    const absl::Status status =
        call_.Run(slot, [this](const CallContext& context) { return Execute(context); });
    if (info_.reads) method_.waited.store(slot->has_waited(), std::memory_order_relaxed);
    Answer(status);
  }

  absl::Status Execute(const CallContext& context) {
    const std::string& message = remote_.request.message;
    google::protobuf::io::ArrayInputStream bytes(message.data(), static_cast<int>(message.size()));
    return CallWithBytes(*method_.method, api_, context, &bytes, [&](const MessageLite& response) {
      return response.SerializeToString(&response_)
                 ? absl::OkStatus()
                 : absl::InternalError("the answer cannot be serialized");
    });
  }

  void Answer(const absl::Status& status) {
    remote_.connection->Answer(remote_.request.call, call_.End(status), response_);
    if (!is_inline_) delete this;
  }

  const CallDeps& deps_;
  const Method& method_;
  const MethodInfo& info_;
  void* const api_;
  RemoteCall remote_;
  size_t bytes_taken_ = 0;  // charged to the client
  absl::Notification cancelled_;
  const ServedCall call_;
  std::string response_;
  bool entered_ = false;
  // True while TryRunInline() runs the call. TryRunInline() then deletes the call, so Answer() must
  // not delete it.
  bool is_inline_ = false;
};

class Service final : public RemoteService {
 public:
  Service(absl::Span<const UnaryMethod> methods, std::shared_ptr<void> api, const CallDeps* deps)
      : api_(std::move(api)), deps_(*deps) {
    for (const UnaryMethod& method : methods) {
      methods_[method.info->path].reset(new Method{.method = &method});
    }
  }

  bool Has(absl::string_view path) const override { return methods_.contains(path); }
  void Begin(RemoteCall call) override {
    const Method& method = *methods_.at(call.request.path);
    (new UnaryCall(deps_, method, api_.get(), std::move(call)))->Start();
  }

 private:
  const std::shared_ptr<void> api_;
  const CallDeps& deps_;
  absl::flat_hash_map<absl::string_view, std::unique_ptr<const Method>> methods_;  // by path
};

}  // namespace

std::unique_ptr<RemoteService> NewRemoteService(absl::Span<const UnaryMethod> methods,
                                                std::shared_ptr<void> api, const CallDeps* deps) {
  return std::make_unique<Service>(methods, std::move(api), deps);
}

}  // namespace csi_proxy::rpc
