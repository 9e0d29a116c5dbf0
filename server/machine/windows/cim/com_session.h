// The Session that talks to WMI, through its COM API.
#pragma once

#include <functional>
#include <memory>

#include "absl/strings/string_view.h"
#include "server/machine/cim/session.h"

namespace csi_proxy::cim {

// Connects when first called. Its methods may be called by any thread that is not in a
// single-threaded apartment; a thread need not have joined one at all. From then on the process has
// a multithreaded apartment, and, unless it has set COM's security itself, encrypted calls by
// default. Any thread may call `warn`, which gets the failures that are passed over.
std::unique_ptr<Session> NewComSession(std::function<void(absl::string_view)> warn = nullptr);

}  // namespace csi_proxy::cim
