// Serves v1.Filesystem on a socket where csi-proxyctl finds it, so that a test in embedded mode can
// see the directories of the node in the driver's memory. Real nodes' directories need no driver.
#pragma once

#include <memory>

#include "csi_proxy/filesystem/v1/client.h"
#include "filesystem/v1/api.grpc.pb.h"

namespace csi_proxy::sample_driver {

// Returns a service that passes its calls to `client`. It has only the rpcs that create, find and
// remove directories.
std::unique_ptr<v1::Filesystem::Service> NewFilesystemPipe(filesystem::v1::Client client);

}  // namespace csi_proxy::sample_driver
