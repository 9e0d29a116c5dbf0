// A WMI that shows and changes the simulated node: what the Windows host is tested against where
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

namespace csi_proxy::machine::simulated::wmi {

// The node (Machine::core()), which is not owned, through its MSFT_* classes. Strict as WMI: a
// class, property, method or parameter that is not in the schema, a value of another type, a
// required parameter that is missing, an instance method on a class, an object that is gone: each
// fails with WMI's own HRESULT.
//
// Every call first passes the node's fault table, as the operations of schema.h. The error of a
// rule from 0x80000000 up is the HRESULT the call fails with; a smaller one is what a method
// returns, or, for other calls, the Win32 error inside the HRESULT; without one the call fails with
// WBEM_E_FAILED, or ends if the rule says DEADLINE_EXCEEDED or CANCELLED.
class SimulatedSession : public cim::Session {
 public:
  explicit SimulatedSession(Core* core) : core_(*core) {}

  // Open to those who have the text of a query in hand.
  absl::StatusOr<std::vector<cim::Object>> DoQuery(const CallContext& context, cim::Namespace space,
                                                   const std::string& wql) override;
  absl::StatusOr<cim::MethodResult> DoInvoke(const CallContext& context, cim::Namespace space,
                                             const std::string& path, const std::string& method,
                                             const cim::Arguments& arguments) override;

  // The instance at a path, as IWbemServices::GetObject has it.
  absl::StatusOr<cim::Object> Get(const CallContext& context, cim::Namespace space,
                                  const std::string& path);

 private:
  using Found = absl::StatusOr<std::vector<cim::Object>>;

  Found Run(const CallContext& context, const Select& select);
  Found Run(const CallContext& context, const AssociatorsOf& associators);
  // The answer, which is as long as it is.
  Found Counted(absl::string_view operation, Found found);
  // Returns a fault rule's name of the object at a path; empty when there is none.
  std::string ResourceAt(const ObjectPath& path);

  Core& core_;
};

std::unique_ptr<SimulatedSession> NewSimulatedSession(Core* core);

}  // namespace csi_proxy::machine::simulated::wmi
