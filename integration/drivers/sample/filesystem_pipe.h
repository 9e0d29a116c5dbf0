// The node's directories for whoever watches the driver from outside, as kubelet and csi-sanity do:
// v1.Filesystem on a socket of its own, where csi-proxyctl finds it. A test of embedded mode needs
// it, whose node is in the driver's memory; a real node's directories need no driver.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "csi_proxy/client_options.h"
#include "filesystem/v1/api.grpc.pb.h"

namespace csi_proxy::sample_driver {

// A service that does what the client does. Its rpcs are those that make, see and remove
// directories.
absl::StatusOr<std::unique_ptr<v1::Filesystem::Service>> NewFilesystemPipe(
    const ClientOptions& options);

}  // namespace csi_proxy::sample_driver
