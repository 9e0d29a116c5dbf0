// The objects that calls to WMI hand out while they go on: the enumerator of a query, the result of
// a call.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "integration/wine/node/pending.h"
#include "integration/wine/node/wmi_object_windows.h"
#include "server/machine/windows/cim/com_windows.h"

namespace csi_proxy::node_double {

using Objects = std::vector<cim::ComPtr<WmiObject>>;

// The objects a query finds, `query` in errors. One that is `forward_only` can be read once.
// Releasing the last enumerator of a query ends it.
cim::ComPtr<IEnumWbemClassObject> NewEnumerator(std::shared_ptr<Pending<Objects>> pending,
                                                std::string query, bool forward_only);

// Makes the result of GetObject or ExecMethod, `operation`, on `path`.
cim::ComPtr<IWbemCallResult> NewCallResult(std::shared_ptr<Pending<cim::ComPtr<WmiObject>>> pending,
                                           std::string operation, std::string path);

}  // namespace csi_proxy::node_double
