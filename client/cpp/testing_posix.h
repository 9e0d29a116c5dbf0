// For tests: a small service on its own socket, in this process.
#pragma once

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "csi_proxy/connection.h"
#include "server/base/testing_posix.h"
#include "server/rpc/testing_posix.h"
#include "system/v1alpha1/api.grpc.pb.h"

namespace csi_proxy::client {

// Returns options for a client with its sockets in `directory`.
inline ClientOptions OptionsFor(const TemporaryDirectory& directory) {
  ClientOptions options;
  options.mode = Mode::kRemote;
  options.socket_dir = directory.path();
  return options;
}

// Leaves a socket without a server, as a killed service does.
inline void LeaveSocket(const std::string& path) {
  ASSERT_TRUE(rpc::UnixSocket(path, bind).valid());
}

// Sets an environment variable and restores the old value at the end. Not thread-safe.
class ScopedEnvironment {
 public:
  ScopedEnvironment(const char* name, const char* value) : name_(name) {
    const char* const before = getenv(name);
    was_set_ = before != nullptr;
    if (was_set_) before_ = before;
    value != nullptr ? setenv(name, value, 1) : unsetenv(name);
  }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;
  ~ScopedEnvironment() { was_set_ ? setenv(name_, before_.c_str(), 1) : unsetenv(name_); }

 private:
  const char* const name_;
  bool was_set_;
  std::string before_;
};

// The request determines the answer of GetService: the name `code:N` fails with that code, the text
// `text of N` and a display name; `wait` waits until it is cancelled; other names are echoed.
class FakeSystem final : public ::v1alpha1::System::Service {
 public:
  grpc::Status GetService(grpc::ServerContext* context,
                          const ::v1alpha1::GetServiceRequest* request,
                          ::v1alpha1::GetServiceResponse* response) override {
    ++calls;
    const std::string& name = request->name();
    response->set_display_name(name);
    response->set_status(::v1alpha1::RUNNING);
    int code;
    if (name.rfind("code:", 0) == 0 && absl::SimpleAtoi(name.substr(5), &code)) {
      return grpc::Status(static_cast<grpc::StatusCode>(code), "text of " + std::to_string(code));
    }
    if (name == "wait") {
      if (!waiting.HasBeenNotified()) waiting.Notify();
      const absl::Time give_up = absl::Now() + absl::Seconds(30);
      while (!context->IsCancelled() && absl::Now() < give_up) {
        absl::SleepFor(absl::Milliseconds(1));
      }
      if (context->IsCancelled() && !cancelled.HasBeenNotified()) cancelled.Notify();
    }
    return grpc::Status::OK;
  }

  std::atomic<int> calls = 0;
  absl::Notification waiting, cancelled;
};

// Serves a FakeSystem and gRPC's health service on the pipe of `system v1alpha1` in a directory.
class FakeServer {
 public:
  explicit FakeServer(const std::string& directory)
      : path_(directory + "/csi-proxy-system-v1alpha1.sock") {
    grpc::EnableDefaultHealthCheckService(true);
    Start();
  }
  ~FakeServer() {
    if (server_ != nullptr) Stop();
  }

  void Start() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + path_, grpc::InsecureServerCredentials());
    builder.RegisterService(&system);
    server_ = builder.BuildAndStart();
  }
  // Ends the server and its calls, and removes its socket.
  void Stop() {
    server_->Shutdown(absl::ToChronoTime(absl::Now()));
    server_->Wait();
    server_.reset();
    std::filesystem::remove(path_);
  }

  // Sets the answer of the health service.
  void SetServing(bool serving) { server_->GetHealthCheckService()->SetServingStatus(serving); }

  const std::string& path() const { return path_; }

  FakeSystem system;

 private:
  const std::string path_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace csi_proxy::client
