// The Win32 calls of server/machine/os.h on a simulated node, as strict as Windows is: its
// error codes, its byte layouts, its rules for opens.
#pragma once

#include <memory>

#include "server/machine/os.h"
#include "server/simulator/core.h"

namespace csi_proxy::machine::simulated {

// `core` is not owned and must outlive what is returned, and the files it opens. Every call passes
// the core's faults first, as `win32.<Method>` on its volume, device, path or service.
std::unique_ptr<machine::Os> NewSimulatedOs(Core* core);

}  // namespace csi_proxy::machine::simulated
