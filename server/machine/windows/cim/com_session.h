// The Session that calls WMI through its COM API.
#pragma once

#include <memory>

#include "csi_proxy/log_function.h"
#include "server/machine/cim/session.h"

namespace csi_proxy::cim {

// Returns a session that connects on its first call. Its methods may be called on any thread that
// has joined no apartment or the multithreaded one. In a single-threaded apartment the methods
// return FAILED_PRECONDITION. The first call gives the process a multithreaded apartment and,
// unless the process has set COM's security itself, encrypted calls by default. `warn` gets
// problems that do not fail a call, and must be thread-safe.
std::unique_ptr<Session> NewComSession(LineFunction warn = nullptr);

}  // namespace csi_proxy::cim
