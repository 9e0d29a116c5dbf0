// A WMI that shows and changes the simulated node. The Windows host is tested against it where
// there is no Windows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "server/machine/cim/session.h"
#include "server/simulator/core.h"
#include "server/simulator/wmi/wql.h"

namespace csi_proxy::machine::simulator::wmi {

// Shows the node (Machine::core()) as objects of WMI. REQUIRES: the node outlives the session. The
// session is as strict as WMI. Each of these fails with WMI's own HRESULT: a class, property,
// method or parameter outside the schema, a value of another type, a missing required parameter, an
// instance method on a class, an object that is gone.
//
// Each valid call passes the node's fault table before its work, under its name of schema.h.
// A FaultRule::error from 0x80000000 up becomes the HRESULT of the failed call. A lower error
// becomes the return value of a method or, for other calls, the Win32 error inside the HRESULT. A
// rule with a FaultRule::code but no error makes the call fail with WBEM_E_FAILED, or with that
// code if it is DEADLINE_EXCEEDED or CANCELLED.
class SimulatedSession : public cim::Session {
 public:
  explicit SimulatedSession(Core* core) : core_(*core) {}

  // Runs a query. Public for callers that have WQL text.
  absl::StatusOr<std::vector<cim::Object>> DoQuery(const CallContext& context, cim::Namespace space,
                                                   const std::string& wql) override;
  absl::StatusOr<cim::MethodResult> DoInvoke(const CallContext& context, cim::Namespace space,
                                             const std::string& path, const std::string& method,
                                             const cim::Arguments& arguments) override;

  // Returns the instance at a path, as IWbemServices::GetObject does.
  absl::StatusOr<cim::Object> Get(const CallContext& context, cim::Namespace space,
                                  const std::string& path);

 private:
  using QueryResult = absl::StatusOr<std::vector<cim::Object>>;

  QueryResult Run(const CallContext& context, const Select& select);
  QueryResult Run(const CallContext& context, const AssociatorsOf& associators);
  // Counts the objects of the answer and returns the answer. Converts an error to an HRESULT.
  QueryResult CountAnswer(absl::string_view operation, QueryResult found);
  // Returns the resource by which a fault rule names the object at a path, or an empty text.
  std::string ResourceAt(const ObjectPath& path);

  Core& core_;
};

std::unique_ptr<SimulatedSession> NewSimulatedSession(Core* core);

}  // namespace csi_proxy::machine::simulator::wmi
