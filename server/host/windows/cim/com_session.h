// The Session that talks to WMI, through its COM API.
#pragma once

#include <memory>

#include "server/host/windows/cim/session.h"

namespace csi_proxy::cim {

// Connects when first called. Its methods may be called by any thread that is in no single-threaded
// apartment; a thread need not have joined one at all. The process then has a multithreaded
// apartment until it ends.
std::unique_ptr<Session> NewComSession();

}  // namespace csi_proxy::cim
