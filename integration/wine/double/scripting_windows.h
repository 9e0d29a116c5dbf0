// WMI's scripting objects (SWbemLocator and the objects it returns) in place of Windows' own. Go
// csi-proxy uses them. They pass every request unchanged to WMI's COM interfaces.
//
// The objects are late bound and have only the members that github.com/microsoft/wmi and the WMI
// layer of csi-proxy's master of August 2026 call. Wine's own objects do not suffice: they lack
// Associators_ and methods as members of instances.
#pragma once

#include "server/machine/windows/cim/com_windows.h"

namespace csi_proxy::node_double {

// `{76A64158-CB41-11D1-8B02-00600806D9B6}`, WbemScripting.SWbemLocator.
inline constexpr CLSID kScriptingLocatorClass = {
    0x76a64158, 0xcb41, 0x11d1, {0x8b, 0x02, 0x00, 0x60, 0x08, 0x06, 0xd9, 0xb6}};

cim::ComPtr<IDispatch> NewScriptingLocator();

// Returns an SWbemObject for `object`, which `services` returned.
cim::ComPtr<IDispatch> NewScriptingObject(cim::ComPtr<IWbemClassObject> object,
                                          cim::ComPtr<IWbemServices> services);

// Stores an SWbemObjectSet with the objects of the query `wql` in `result`.
HRESULT GiveObjectSet(const cim::ComPtr<IWbemServices>& services, const std::string& wql,
                      LONG flags, VARIANT* result);

}  // namespace csi_proxy::node_double
