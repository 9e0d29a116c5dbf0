#include "client/cpp/link.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/async_unary_call.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"

namespace csi_proxy::client {
namespace {

using google::protobuf::Message;

// Owns abandoned calls until gRPC ends them, soon after their connection is closed.
class Abandoned {
 public:
  static Abandoned& Get() {
    static auto* const abandoned = new Abandoned();
    return *abandoned;
  }

  // Adds a call and destroys the calls that have ended.
  void Add(std::unique_ptr<PendingCall> call) {
    const MutexLock lock(mutex_);
    std::erase_if(calls_, [](const auto& other) { return other->Wait(SteadyTime::Now()); });
    calls_.push_back(std::move(call));
  }

 private:
  Mutex mutex_;
  std::vector<std::unique_ptr<PendingCall>> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::chrono::system_clock::time_point ForGrpc(SteadyTime deadline) {
  // Clamps a past deadline to now, because gRPC treats a time before 1970 as one that never comes.
  return absl::ToChronoTime(absl::Now() +
                            std::max(deadline - SteadyTime::Now(), absl::ZeroDuration()));
}

PendingCall::PendingCall(std::shared_ptr<grpc::Channel> channel, const char* method,
                         const CallContext& context, const Message& request,
                         const Message& response)
    : channel_(std::move(channel)), answer_(response.New()) {
  if (context.deadline() != SteadyTime::InfiniteFuture()) {
    context_.set_deadline(ForGrpc(context.deadline()));
  }
  if (!context.traceparent().empty()) {
    context_.AddMetadata("traceparent", std::string(context.traceparent()));
  }
  const grpc::internal::RpcMethod rpc(method, grpc::internal::RpcMethod::NORMAL_RPC, channel_);
  grpc::internal::ClientAsyncResponseReaderFactory<Message>::Create(channel_.get(), &queue_, rpc,
                                                                    &context_, request, true)
      ->Finish(answer_.get(), &status_, this);
}

bool PendingCall::Wait(SteadyTime deadline) {
  void* tag;
  bool ok;
  return queue_.AsyncNext(&tag, &ok, ForGrpc(deadline)) == grpc::CompletionQueue::GOT_EVENT;
}

void Link::Abandon(std::unique_ptr<PendingCall> call) {
  stuck_ = true;
  Abandoned::Get().Add(std::move(call));
}

}  // namespace csi_proxy::client
