// The Session that talks to WMI, through its COM API.
#pragma once

#include <memory>

#include "server/machine/cim/session.h"

namespace csi_proxy::cim {

// Connects when first called. Its methods may be called by any thread that is in no single-threaded
// apartment; a thread need not have joined one at all. From then on the process has a multithreaded
// apartment, and, unless it has set COM's security itself, encrypted calls by default.
std::unique_ptr<Session> NewComSession();

}  // namespace csi_proxy::cim
