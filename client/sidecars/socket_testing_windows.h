// For tests of sockets: a service, and a call of it.
#pragma once

#include "client/sidecars/socket_windows.h"
// Must follow winsock2.h.
#include <grpcpp/client_context.h>

#include <atomic>
#include <string>

#include "absl/time/clock.h"
#include "filesystem/v1alpha1/api.grpc.pb.h"

namespace csi_proxy::sidecars {

using ::v1alpha1::Filesystem;

inline constexpr absl::Duration kSoon = absl::Seconds(10);

class Service final : public Filesystem::Service {
 public:
  grpc::Status PathExists(grpc::ServerContext*, const ::v1alpha1::PathExistsRequest*,
                          ::v1alpha1::PathExistsResponse* response) override {
    response->set_error(text);
    return grpc::Status::OK;
  }
  // Waits until the client has disconnected.
  grpc::Status Mkdir(grpc::ServerContext* context, const ::v1alpha1::MkdirRequest*,
                     ::v1alpha1::MkdirResponse*) override {
    ++waiting;
    while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(2));
    --waiting;
    return grpc::Status::CANCELLED;
  }

  std::string text = "4711";
  std::atomic<int> waiting = 0;
};

inline grpc::Status Ask(SocketChannel& channel, absl::Time deadline = absl::Now() + kSoon,
                        std::string* text = nullptr) {
  const auto stub = Filesystem::NewStub(channel.channel());
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(deadline));
  ::v1alpha1::PathExistsResponse response;
  const grpc::Status status = stub->PathExists(&context, {}, &response);
  if (text != nullptr) *text = response.error();
  return status;
}

}  // namespace csi_proxy::sidecars
