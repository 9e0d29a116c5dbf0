// WMI's scripting objects (SWbemLocator and what it leads to), in the place of Windows' own. By
// these the Go release of this service reaches WMI. They only ask the COM interfaces, as any client
// does, and pass a caller's requests on to WMI unchanged.
//
// They are called late bound, and have what github.com/microsoft/wmi calls. Wine's own cannot
// stand in: they know neither Associators_ nor the methods of instances by their names.
#pragma once

#include "server/machine/windows/cim/com_windows.h"

namespace csi_proxy::node_double {

// `{76A64158-CB41-11D1-8B02-00600806D9B6}`, WbemScripting.SWbemLocator.
inline constexpr CLSID kScriptingLocatorClass = {
    0x76a64158, 0xcb41, 0x11d1, {0x8b, 0x02, 0x00, 0x60, 0x08, 0x06, 0xd9, 0xb6}};

// SWbemLocator.
cim::ComPtr<IDispatch> NewScriptingLocator();

// SWbemObject. `services` is where it is from.
cim::ComPtr<IDispatch> NewScriptingObject(cim::ComPtr<IWbemClassObject> object,
                                          cim::ComPtr<IWbemServices> services);

// SWbemObjectSet of what `wql` finds.
HRESULT GiveObjectSet(const cim::ComPtr<IWbemServices>& services, const std::string& wql,
                      LONG flags, VARIANT* result);

}  // namespace csi_proxy::node_double
