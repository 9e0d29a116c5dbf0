#include "server/shim/unary_call.h"

#include <algorithm>

namespace csi_proxy::shim {

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

UnaryCallBase::UnaryCallBase(const Runtime& runtime, const MethodInfo& method,
                             grpc::CallbackServerContext* context)
    : runtime_(runtime), method_(method) {
  const auto deadline = context->deadline();
  deadline_ = deadline == std::chrono::system_clock::time_point::max() ? absl::InfiniteFuture()
                                                                       : absl::FromChrono(deadline);
  deadline_ = std::min(deadline_, arrived_ + runtime_.max_call_duration);
  if (runtime_.peers != nullptr) peer_ = runtime_.peers->Find(context->peer());
}

void UnaryCallBase::Start() {
  for (CallObserver* observer : runtime_.observers) observer->OnStart(method_);
  if (runtime_.gate != nullptr) {
    entered_ = runtime_.gate->Enter();
    if (!entered_) {
      Answer(absl::UnavailableError("the service is stopping"));
      return;
    }
  }
  const absl::Status queued = runtime_.executor->Submit(this);
  if (!queued.ok()) Answer(queued);
}

void UnaryCallBase::Run() {
  const CallContext context(deadline_, &cancelled_, peer_.get(), method_.pipe);
  absl::Status status = context.Check();
  if (status.ok()) status = Execute(context);
  Answer(status);
}

void UnaryCallBase::OnCancel() { cancelled_.Notify(); }

void UnaryCallBase::OnDone() {
  // Not before: a stop may close the connection once the last call has left.
  if (entered_) runtime_.gate->Leave();
  delete this;
}

void UnaryCallBase::Answer(const absl::Status& status) {
  static const Peer* const kUnknown = new Peer();
  for (CallObserver* observer : runtime_.observers) {
    observer->OnDone(method_, peer_ != nullptr ? *peer_ : *kUnknown, status,
                     absl::Now() - arrived_);
  }
  // The call may be deleted before Finish() returns: nothing of it is touched from here on.
  Finish(ToGrpcStatus(status));
}

}  // namespace csi_proxy::shim
