// The node's directories for whoever watches the driver from outside, as kubelet and csi-sanity do:
// v1.Filesystem on a socket of its own, where csi-proxyctl finds it. A test of embedded mode needs
// it, whose node is in the driver's memory; a real node's directories need no driver.
#pragma once

#include <memory>

#include "csi_proxy/filesystem/v1/client.h"
#include "filesystem/v1/api.grpc.pb.h"

namespace csi_proxy::sample_driver {

// A service that does what the client does. Its rpcs are those that make, see and remove
// directories.
std::unique_ptr<v1::Filesystem::Service> NewFilesystemPipe(filesystem::v1::Client client);

}  // namespace csi_proxy::sample_driver
