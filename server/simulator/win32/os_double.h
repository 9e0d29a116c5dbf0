// The Win32 calls of server/machine/os.h on a simulated node, as strict as Windows: its error
// codes, its byte layouts, its rules for opens.
#pragma once

#include <memory>

#include "server/machine/os.h"
#include "server/simulator/core.h"

namespace csi_proxy::machine::simulator {

// Makes the Os. Every call but DeviceChanges() and AwaitDeviceChange() first passes the core's
// faults. A fault rule names it `win32.<Method>` (OpenRoot() `win32.Open`, ListNext() `win32.List`)
// and its volume, device, path or service. REQUIRES: `core` outlives the Os and its open files.
std::unique_ptr<machine::Os> NewSimulatedOs(Core* core);

}  // namespace csi_proxy::machine::simulator
