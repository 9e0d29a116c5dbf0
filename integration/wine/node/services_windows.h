// IWbemServices: one namespace of the simulated node's WMI.
#pragma once

#include "server/machine/windows/cim/com_windows.h"
#include "server/simulator/wmi/session.h"

namespace csi_proxy::node_double {

// `session` is not owned and outlives all who use it.
cim::ComPtr<IWbemLocator> NewLocator(machine::simulated::wmi::SimulatedSession* session);

}  // namespace csi_proxy::node_double
