#include <memory>
#include <utility>

#include "server/rpc/adopt.h"
#include "server/rpc/pipe/endpoint.h"

namespace csi_proxy::transport {

// The guard sees to it (http2_guard.h).
void BoundMemory(grpc::ServerBuilder*) {}

void AdoptConnection(grpc::Server* server, intptr_t handle) {
  const std::unique_ptr<pipe::Connection> connection(reinterpret_cast<pipe::Connection*>(handle));
  pipe::Serve(server, std::move(*connection));
}

size_t ReadingThreads() { return pipe::IoPort::Get().thread_count(); }

}  // namespace csi_proxy::transport
