// Unix sockets as streams. A few threads serve all sockets.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "server/platform/unique_fd.h"
#include "server/transport/stream.h"

namespace csi_proxy::transport {

// Makes the stream of a connected, non-blocking socket. Streams with the same `tenant` take turns
// as one. `tenant` is only compared. Returns RESOURCE_EXHAUSTED, and closes the socket, if the
// system has no thread or no memory for the stream.
absl::StatusOr<std::shared_ptr<Stream>> NewSocketStream(UniqueFd socket, const void* tenant);

}  // namespace csi_proxy::transport
