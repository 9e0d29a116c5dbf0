// Passes the requests of a WMI client to the simulated node's WMI and returns COM objects.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "integration/wine/double/pending.h"
#include "integration/wine/double/wmi_object_windows.h"
#include "server/simulator/wmi/session.h"

namespace csi_proxy::node_double {

using Objects = std::vector<cim::ComPtr<WmiObject>>;

// Returns an enumerator of the objects that `pending` finds. Errors quote `query`. With
// `forward_only`, Reset() and Clone() fail. Releasing the last enumerator of a query cancels it.
cim::ComPtr<IEnumWbemClassObject> NewEnumerator(std::shared_ptr<Pending<Objects>> pending,
                                                std::string query, bool forward_only);

// Returns the result of `operation` (GetObject or ExecMethod) on `path`; errors name both.
cim::ComPtr<IWbemCallResult> NewCallResult(std::shared_ptr<Pending<cim::ComPtr<WmiObject>>> pending,
                                           std::string operation, std::string path);

// Parses a namespace such as `ROOT\CIMV2` or `//./root/cimv2`, ignoring case. Returns nullopt if
// this computer does not have it.
std::optional<cim::Namespace> ParseNamespace(absl::string_view name);

// WMI of one namespace. All errors have an HRESULT.
struct Wmi {
  // Not owned.
  wmi::SimulatedSession& session;
  cim::Namespace space;

  // Returns the objects of a query. Only with `locatable` do they have paths.
  absl::StatusOr<Objects> Query(const CallContext& context, absl::string_view wql,
                                bool locatable) const;
  // Returns the class or instance at `path`.
  absl::StatusOr<cim::ComPtr<WmiObject>> Get(const CallContext& context,
                                             absl::string_view path) const;
  // Calls a method and returns its results. `in` may be null.
  absl::StatusOr<cim::ComPtr<WmiObject>> Invoke(const CallContext& context, absl::string_view path,
                                                absl::string_view method,
                                                const cim::ComPtr<WmiObject>& in) const;

 private:
  absl::StatusOr<Objects> Find(const CallContext& context, absl::string_view wql,
                               bool locatable) const;
};

// Returns a locator for all namespaces. `session` must outlive every object obtained from it.
cim::ComPtr<IWbemLocator> NewLocator(machine::simulator::wmi::SimulatedSession* session);

}  // namespace csi_proxy::node_double
