// The faults of a simulated node that are named by what the host does, as `volume.Format`. Those
// of the machine under it, `win32.*` and `wmi.*`, strike in the machine itself.
#pragma once

#include <memory>

#include "server/host/host.h"
#include "server/machine/simulated/core.h"

namespace csi_proxy {

// A host each of whose operations passes the fault table of `core` before `host` does it. `core` is
// not owned and must outlive what is returned.
std::unique_ptr<host::Host> WithNamedFaults(machine::simulated::Core* core,
                                            std::unique_ptr<host::Host> host);

}  // namespace csi_proxy
