#include <grpcpp/server_posix.h>

#include "server/transport/adopt.h"

namespace csi_proxy::transport {

void AdoptConnection(grpc::Server* server, intptr_t handle) {
  grpc::AddInsecureChannelFromFd(server, static_cast<int>(handle));
}

}  // namespace csi_proxy::transport
