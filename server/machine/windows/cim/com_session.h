// The Session that calls WMI through its COM API.
#pragma once

#include <memory>

#include "csi_proxy/log_function.h"
#include "server/machine/cim/session.h"

namespace csi_proxy::cim {

// Returns a session that connects on its first call. Its methods return FAILED_PRECONDITION on a
// thread of a single-threaded apartment. Threads of the multithreaded apartment, and threads that
// have joined no apartment, may call them. The first call gives the process a multithreaded
// apartment. It also makes encryption the default of COM calls, unless the process has set COM's
// security itself. `warn` gets problems that do not fail a call, and must be thread-safe.
std::unique_ptr<Session> NewComSession(LineFunction warn = nullptr);

}  // namespace csi_proxy::cim
