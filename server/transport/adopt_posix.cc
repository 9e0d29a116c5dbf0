#include <grpcpp/server_posix.h>

#include <algorithm>
#include <thread>

#include "server/transport/adopt.h"

namespace csi_proxy::transport {

void AdoptConnection(grpc::Server* server, intptr_t handle) {
  grpc::AddInsecureChannelFromFd(server, static_cast<int>(handle));
}

// gRPC's CompletionQueue::CallbackAlternativeCQ (src/cpp/common/completion_queue_cc.cc, 1.51).
size_t ReadingThreads() {
  return std::clamp<size_t>(std::thread::hardware_concurrency() / 2, 2, 16);
}

}  // namespace csi_proxy::transport
