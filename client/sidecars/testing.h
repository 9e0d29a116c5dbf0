// For tests: clients of the sidecars.
#pragma once

#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/server_callback.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/sidecars/socket.h"
#include "client/sidecars/wire.pb.h"
#include "server/base/testing_posix.h"
#include "server/http/http_testing.h"

namespace csi_proxy::sidecars {

using http_testing::Answer;
using http_testing::Get;

inline constexpr absl::Duration kSoon = absl::Seconds(20);

inline bool Eventually(const std::function<bool()>& condition) {
  const absl::Time give_up = absl::Now() + kSoon;
  while (!condition()) {
    if (absl::Now() > give_up) return false;
    absl::SleepFor(absl::Milliseconds(10));
  }
  return true;
}

// Makes the calls of a kubelet that has found a socket.
class Kubelet {
 public:
  explicit Kubelet(const std::string& socket) {
    auto connected = SocketChannel::Connect(socket, SteadyTime::Now() + kSoon);
    EXPECT_TRUE(connected.ok()) << connected.status();
    if (connected.ok()) connection_ = *std::move(connected);
  }

  wire::PluginInfo GetInfo() {
    return Call<wire::InfoRequest, wire::PluginInfo>("/pluginregistration.Registration/GetInfo",
                                                     {});
  }
  void Notify(bool accepted, const std::string& error) {
    wire::RegistrationStatus status;
    status.set_plugin_registered(accepted);
    status.set_error(error);
    Call<wire::RegistrationStatus, wire::RegistrationStatusResponse>(
        "/pluginregistration.Registration/NotifyRegistrationStatus", status);
  }

 private:
  template <typename Request, typename Response>
  Response Call(const char* method, const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kSoon));
    Response response;
    const grpc::Status status =
        grpc::internal::BlockingUnaryCall<Request, Response, google::protobuf::MessageLite,
                                          google::protobuf::MessageLite>(
            connection_->channel().get(),
            grpc::internal::RpcMethod(method, grpc::internal::RpcMethod::NORMAL_RPC), &context,
            request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  std::unique_ptr<SocketChannel> connection_;
};

// How the driver answers Probe.
enum class ProbeMode { kReady, kReadyByOmission, kNotReady, kFails, kSlow, kHangs };

class TestingDriver final : public grpc::Service {
 public:
  static constexpr absl::Duration kSlowness = absl::Milliseconds(300);

  explicit TestingDriver(std::string socket, std::string name = "test.csi.example");
  ~TestingDriver() override;

  // Stop and start the driver, as a restart of its container does.
  void End();
  void Begin();

  void set_mode(ProbeMode mode) { mode_ = mode; }

 private:
  template <typename Request, typename Response, typename Answer>
  void Add(const char* path, Answer answer);
  grpc::ServerUnaryReactor* Probe(grpc::CallbackServerContext* context,
                                  wire::ProbeResponse* response);

  const std::string socket_, name_;
  int methods_ = 0;
  std::atomic<ProbeMode> mode_ = ProbeMode::kReady;
  std::mutex mutex_;
  std::vector<std::thread> slow_;
  std::unique_ptr<SocketServer> server_;
};

}  // namespace csi_proxy::sidecars
