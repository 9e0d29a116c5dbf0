// The Win32 calls of server/host/windows/os.h on a simulated node, as strict as Windows is: its
// error codes, its byte layouts, its rules of who may open what.
#pragma once

#include <memory>

#include "server/host/simulated/core.h"
#include "server/host/windows/os.h"

namespace csi_proxy::host::simulated {

// `core` is not owned and must outlive what is returned, and the files it opens. Every call passes
// the core's faults first, as `win32.<Method>` on its volume, device, path or service.
std::unique_ptr<windows::Os> NewSimulatedOs(Core* core);

}  // namespace csi_proxy::host::simulated
