// Takes a pipe's name for a server.
//
// A name exists until the last handle of the pipe is closed, a server's or a client's
// (https://learn.microsoft.com/windows/win32/api/namedpipeapi/nf-namedpipeapi-disconnectnamedpipe).
// A server that crashes disconnects no client. Clients that keep their end open then keep the name,
// and the first instance of the next server is refused as if the pipe were served. The next server
// inherits such a name by making a further instance, if the pipe has the owner and the DACL of that
// server's own pipes or can safely be given them.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/pipe/pipe_calls.h"

namespace csi_proxy::pipe {

// Returns the server's first instance. Returns FAILED_PRECONDITION, with the reason, if another
// process serves the pipe or a pipe left over from a server is unsafe to take; else Windows' error.
// Takes such a pipe only if `alone` is OK, that is, if no other csi-proxy takes names now.
absl::StatusOr<void*> TakeName(PipeCalls& calls, const std::string& path,
                               const absl::Status& alone);

}  // namespace csi_proxy::pipe
