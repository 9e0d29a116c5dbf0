// For tests: a CSI driver's Identity service that answers as the test sets.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "client/sidecars/socket.h"
#include "client/sidecars/wire.pb.h"

namespace csi_proxy::sidecars {

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
