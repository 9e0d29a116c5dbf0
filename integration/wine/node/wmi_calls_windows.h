// Puts the requests of a client of WMI to the simulated node's WMI, and turns the answers into COM
// objects.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "integration/wine/node/com_calls_windows.h"
#include "integration/wine/node/wmi_object_windows.h"
#include "server/simulator/wmi/session.h"

namespace csi_proxy::node_double {

// The namespace of a name such as `ROOT\CIMV2` or `//./root/cimv2`, in any case; nothing when
// this computer does not have it.
std::optional<cim::Namespace> ParseNamespace(absl::string_view name);

// One namespace. All errors have an HRESULT.
struct Wmi {
  // Not owned.
  wmi::SimulatedSession& session;
  cim::Namespace space;

  // Returns the objects that a query finds. Without `locatable` an object need not have a path, and
  // here has none.
  absl::StatusOr<Objects> Query(const CallContext& context, absl::string_view wql,
                                bool locatable) const;
  // A class or an instance.
  absl::StatusOr<cim::ComPtr<WmiObject>> Get(const CallContext& context,
                                             absl::string_view path) const;
  // Returns the results of a method. `in` may be none.
  absl::StatusOr<cim::ComPtr<WmiObject>> Invoke(const CallContext& context, absl::string_view path,
                                                absl::string_view method,
                                                const cim::ComPtr<WmiObject>& in) const;

 private:
  absl::StatusOr<Objects> Find(const CallContext& context, absl::string_view wql,
                               bool locatable) const;
};

// IWbemServices of all namespaces. `session` is not owned and outlives all who use it.
cim::ComPtr<IWbemLocator> NewLocator(machine::simulated::wmi::SimulatedSession* session);

}  // namespace csi_proxy::node_double
