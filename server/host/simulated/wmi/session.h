// A WMI that shows and changes the simulated node: what the Windows host is tested against where
// there is no Windows.
#pragma once

#include <memory>

#include "server/host/simulated/core.h"
#include "server/host/windows/cim/session.h"

namespace csi_proxy::host::simulated::wmi {

// The node (Node::core()), which is not owned, through its MSFT_* classes. Strict as WMI: a class,
// property, method or parameter that is not in the schema, a value of another type, a required
// parameter that is missing, an instance method on a class, an object that is gone: each fails with
// WMI's own HRESULT.
//
// Every call first passes the node's fault table, as the operations of schema.h. The error of a
// rule from 0x80000000 up is the HRESULT the call fails with; a smaller one is what a method
// returns, or, for other calls, the Win32 error inside the HRESULT; without one the call fails with
// WBEM_E_FAILED.
std::unique_ptr<cim::Session> NewSimulatedSession(Core* core);

}  // namespace csi_proxy::host::simulated::wmi
