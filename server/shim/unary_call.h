// One unary rpc from its arrival to its answer: gRPC's callback reactor on one side, a plain
// function on the other.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/shim/runtime.h"

namespace csi_proxy::shim {

// A service of one version, ready to be served on a pipe of its own.
struct VersionedService {
  std::string group;
  std::string version;
  // As in the rpc's path: `v1.Volume`.
  std::string full_name;
  std::unique_ptr<grpc::Service> service;
};

// The same code and text in gRPC's type.
grpc::Status ToGrpcStatus(const absl::Status& status);

// What of a call does not depend on its types: life, deadline, cancellation, observer.
class UnaryCallBase : public grpc::ServerUnaryReactor, public Task {
 public:
  UnaryCallBase(const Runtime& runtime, const MethodInfo& method,
                grpc::CallbackServerContext* context);

  // Queues the call, or answers it at once when the queue is full.
  void Start();

 private:
  virtual absl::Status Execute(const CallContext& context) = 0;

  void Run() final;
  void OnCancel() final;
  void OnDone() final;
  // OnCancel() and OnDone() only set a flag and free memory. Without this, gRPC 1.51 hands each of
  // them to a thread of its own, which costs every call a wake-up.
  bool InternalInlineable() final { return true; }
  void Answer(const absl::Status& status);

  const Runtime& runtime_;
  const MethodInfo& method_;
  const absl::Time arrived_ = absl::Now();
  absl::Time deadline_;
  std::shared_ptr<const Peer> peer_;
  absl::Notification cancelled_;
  bool entered_ = false;
};

template <typename Request, typename Response, typename Function>
class UnaryCall final : public UnaryCallBase {
 public:
  UnaryCall(const Runtime& runtime, const MethodInfo& method, grpc::CallbackServerContext* context,
            const Request& request, Response* response, Function function)
      : UnaryCallBase(runtime, method, context),
        request_(request),
        response_(response),
        function_(std::move(function)) {}

 private:
  absl::Status Execute(const CallContext& context) override {
    return function_(context, request_, response_);
  }

  const Request& request_;
  Response* const response_;
  Function function_;
};

// Runs `function(const CallContext&, const Request&, Response*) -> absl::Status` on the runtime's
// executor and answers the rpc with what it returns. `runtime` and `method` outlive the call;
// request and response live until it is answered, as gRPC's callback API has it.
template <typename Request, typename Response, typename Function>
grpc::ServerUnaryReactor* StartUnaryCall(const Runtime& runtime, const MethodInfo& method,
                                         grpc::CallbackServerContext* context,
                                         const Request& request, Response* response,
                                         Function function) {
  auto* call = new UnaryCall<Request, Response, Function>(runtime, method, context, request,
                                                          response, std::move(function));
  call->Start();
  return call;
}

}  // namespace csi_proxy::shim
