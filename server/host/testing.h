// What the tests of the host share: the simulated machine's own helpers, and a host over it.
#pragma once

#include "server/machine/simulated/testing.h"
#include "server/node/named_faults.h"

namespace csi_proxy::host {

using namespace machine::simulated;  // NOLINT: for tests alone

}  // namespace csi_proxy::host
