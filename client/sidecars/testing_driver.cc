#include "client/sidecars/testing_driver.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>

#include <cstdlib>
#include <utility>

#include "absl/time/clock.h"

namespace csi_proxy::sidecars {

TestingDriver::TestingDriver(std::string socket, std::string name)
    : socket_(std::move(socket)), name_(std::move(name)) {
  Add<wire::GetPluginInfoRequest, wire::GetPluginInfoResponse>(
      "/csi.v1.Identity/GetPluginInfo",
      [this](grpc::ServerUnaryReactor* reactor, wire::GetPluginInfoResponse* response) {
        response->set_name(name_);
        reactor->Finish(grpc::Status::OK);
      });
  Add<wire::ProbeRequest, wire::ProbeResponse>(
      "/csi.v1.Identity/Probe",
      [this](grpc::ServerUnaryReactor* reactor, wire::ProbeResponse* response) {
        Probe(reactor, response);
      });
  Begin();
}

TestingDriver::~TestingDriver() {
  End();
  for (std::thread& thread : slow_) thread.join();
}

void TestingDriver::End() {
  {
    const std::lock_guard lock(mutex_);
    for (grpc::ServerUnaryReactor* call : hung_) call->Finish(grpc::Status::CANCELLED);
    hung_.clear();
  }
  server_.reset();
}

void TestingDriver::Begin() {
  auto server = SocketServer::Listen(socket_, this);
  // A test without its driver would be pointless.
  if (!server.ok()) abort();
  server_ = *std::move(server);
}

template <typename Request, typename Response, typename Answer>
void TestingDriver::Add(const char* path, Answer answer) {
  AddMethod(
      new grpc::internal::RpcServiceMethod(path, grpc::internal::RpcMethod::NORMAL_RPC, nullptr));
  MarkMethodCallback(
      methods_++,
      new grpc::internal::CallbackUnaryHandler<Request, Response>(
          [answer](grpc::CallbackServerContext* context, const Request*, Response* response) {
            grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
            answer(reactor, response);
            return reactor;
          }));
}

void TestingDriver::Probe(grpc::ServerUnaryReactor* reactor, wire::ProbeResponse* response) {
  const ProbeMode mode = mode_;
  if (mode == ProbeMode::kFails) {
    return reactor->Finish({grpc::StatusCode::FAILED_PRECONDITION, "the array is on fire"});
  }
  if (mode != ProbeMode::kReadyByOmission) {
    response->mutable_ready()->set_value(mode != ProbeMode::kNotReady);
  }
  const std::lock_guard lock(mutex_);
  if (mode == ProbeMode::kHangs) {
    hung_.push_back(reactor);
  } else if (mode == ProbeMode::kSlow) {
    slow_.emplace_back([reactor] {
      absl::SleepFor(kSlowness);
      reactor->Finish(grpc::Status::OK);
    });
  } else {
    reactor->Finish(grpc::Status::OK);
  }
}

}  // namespace csi_proxy::sidecars
