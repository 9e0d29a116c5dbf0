// A machine that answers every question at once, and the same: what a call costs over it is the
// product's own.
#pragma once

#include <memory>

#include "server/machine/cim/session.h"
#include "server/machine/os.h"

namespace csi_proxy::integration {

// Every path is a directory, every disk online. Calls that change a machine fail as not supported.
std::unique_ptr<machine::Os> NewIdleOs();

// Finds nothing.
std::unique_ptr<cim::Session> NewIdleSession();

}  // namespace csi_proxy::integration
