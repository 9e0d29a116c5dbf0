// The objects that represent running WMI calls: the enumerator of a query and the result of a call.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "integration/wine/node/pending.h"
#include "integration/wine/node/wmi_object_windows.h"
#include "server/machine/windows/cim/com_windows.h"

namespace csi_proxy::node_double {

using Objects = std::vector<cim::ComPtr<WmiObject>>;

// Returns an enumerator of the objects that `pending` finds. Errors quote `query`. With
// `forward_only`, Reset() and Clone() fail. Releasing the last enumerator of a query cancels it.
cim::ComPtr<IEnumWbemClassObject> NewEnumerator(std::shared_ptr<Pending<Objects>> pending,
                                                std::string query, bool forward_only);

// Returns the result of `operation` (GetObject or ExecMethod) on `path`; errors name both.
cim::ComPtr<IWbemCallResult> NewCallResult(std::shared_ptr<Pending<cim::ComPtr<WmiObject>>> pending,
                                           std::string operation, std::string path);

}  // namespace csi_proxy::node_double
