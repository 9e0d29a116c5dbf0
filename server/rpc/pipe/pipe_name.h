// Gets a pipe's name for a server.
//
// A name lives as long as any handle of the pipe, a server's or a client's
// (https://learn.microsoft.com/windows/win32/api/namedpipeapi/nf-namedpipeapi-disconnectnamedpipe).
// A server that crashed disconnected nobody: clients that never close their end then keep the name,
// and the first instance of the next server is refused as if somebody served it. Such a name is
// inherited, by making a further instance, if what is left over of the pipe is as this server would
// have made it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/rpc/pipe/pipe_calls.h"

namespace csi_proxy::pipe {

// The first instance of the server. FAILED_PRECONDITION when another process serves the pipe, or
// when what is left over of it is not ours; the message says which. A name is inherited only if
// `alone` is OK: it says that no other csi-proxy takes names at this time, or why that is not
// known.
absl::StatusOr<void*> TakeName(PipeCalls& calls, const std::string& path,
                               const absl::Status& alone);

}  // namespace csi_proxy::pipe
