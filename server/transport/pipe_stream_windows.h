// Ends of named pipes as streams. The threads of the completion port (server/pipe/io_port.h) serve
// all of them.
#pragma once

#include <memory>

#include "server/pipe/pipe.h"
#include "server/transport/stream.h"

namespace csi_proxy::transport {

// Makes the stream of a connected server's end. The streams of a `tenant`, which is only compared,
// share its turns.
std::shared_ptr<Stream> NewPipeStream(std::unique_ptr<pipe::PipeStream> pipe, const void* tenant);

}  // namespace csi_proxy::transport
