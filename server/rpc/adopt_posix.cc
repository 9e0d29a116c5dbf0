#include <grpcpp/resource_quota.h>
#include <grpcpp/server_posix.h>

#include <algorithm>
#include <thread>

#include "server/rpc/adopt.h"

namespace csi_proxy::transport {

// gRPC 1.51 looks at the length of a message when all of it is there, however long it is
// (https://github.com/grpc/grpc/issues/43012). Out of memory, it resets the streams that hold most.
void BoundMemory(grpc::ServerBuilder* builder) {
  // One of all servers; it counts a few kilobytes for an honest connection.
  static const grpc::ResourceQuota* const quota =
      &(new grpc::ResourceQuota("csi-proxy"))->Resize(128 << 20);
  builder->SetResourceQuota(*quota);
}

void AdoptConnection(grpc::Server* server, intptr_t handle) {
  grpc::AddInsecureChannelFromFd(server, static_cast<int>(handle));
}

// gRPC's CompletionQueue::CallbackAlternativeCQ (src/cpp/common/completion_queue_cc.cc, 1.51).
size_t ReadingThreads() {
  return std::clamp<size_t>(std::thread::hardware_concurrency() / 2, 2, 16);
}

}  // namespace csi_proxy::transport
