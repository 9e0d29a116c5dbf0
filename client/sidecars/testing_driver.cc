#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>

#include <cstdlib>
#include <utility>

#include "absl/time/clock.h"
#include "client/sidecars/testing.h"

namespace csi_proxy::sidecars {
namespace {

// A call that ends only when it is cancelled.
class HungCall final : public grpc::ServerUnaryReactor {
  void OnCancel() override { Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }
};

grpc::ServerUnaryReactor* Finished(grpc::CallbackServerContext* context,
                                   const grpc::Status& status = grpc::Status::OK) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

}  // namespace

TestingDriver::TestingDriver(std::string socket, std::string name)
    : socket_(std::move(socket)), name_(std::move(name)) {
  Add<wire::GetPluginInfoRequest, wire::GetPluginInfoResponse>(
      "/csi.v1.Identity/GetPluginInfo",
      [this](grpc::CallbackServerContext* context, wire::GetPluginInfoResponse* response) {
        response->set_name(name_);
        return Finished(context);
      });
  Add<wire::ProbeRequest, wire::ProbeResponse>(
      "/csi.v1.Identity/Probe",
      [this](grpc::CallbackServerContext* context, wire::ProbeResponse* response) {
        return Probe(context, response);
      });
  Begin();
}

TestingDriver::~TestingDriver() {
  End();
  for (std::thread& thread : slow_) thread.join();
}

void TestingDriver::End() { server_.reset(); }

void TestingDriver::Begin() {
  auto server = SocketServer::Listen(socket_, this);
  // The test cannot run without its driver.
  if (!server.ok()) abort();
  server_ = *std::move(server);
}

template <typename Request, typename Response, typename Answer>
void TestingDriver::Add(const char* path, Answer answer) {
  AddMethod(
      new grpc::internal::RpcServiceMethod(path, grpc::internal::RpcMethod::NORMAL_RPC, nullptr));
  MarkMethodCallback(methods_++,
                     new grpc::internal::CallbackUnaryHandler<Request, Response>(
                         [answer](grpc::CallbackServerContext* context, const Request*,
                                  Response* response) { return answer(context, response); }));
}

grpc::ServerUnaryReactor* TestingDriver::Probe(grpc::CallbackServerContext* context,
                                               wire::ProbeResponse* response) {
  const ProbeMode mode = mode_;
  if (mode == ProbeMode::kHangs) return new HungCall;
  if (mode == ProbeMode::kFails) {
    return Finished(context, {grpc::StatusCode::FAILED_PRECONDITION, "the array is on fire"});
  }
  if (mode != ProbeMode::kReadyByOmission) {
    response->mutable_ready()->set_value(mode != ProbeMode::kNotReady);
  }
  if (mode != ProbeMode::kSlow) return Finished(context);
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const std::lock_guard lock(mutex_);
  slow_.emplace_back([reactor] {
    absl::SleepFor(kSlowness);
    reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

}  // namespace csi_proxy::sidecars
