// Ends of named pipes as streams. The threads of the completion port (server/pipe/io_port.h) serve
// all pipes.
#pragma once

#include <memory>

#include "server/pipe/pipe.h"
#include "server/transport/stream.h"

namespace csi_proxy::transport {

// Makes the stream of the server's end of a connected pipe. Streams with the same `tenant` take
// turns as one; it is only compared. REQUIRES: `pipe->SetTenant(tenant)` was called.
std::shared_ptr<Stream> NewPipeStream(std::unique_ptr<pipe::PipeStream> pipe, const void* tenant);

}  // namespace csi_proxy::transport
