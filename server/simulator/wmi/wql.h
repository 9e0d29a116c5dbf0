// Parses the queries of the simulated WMI's clients, as strictly as WMI does.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/machine/cim/session.h"
#include "server/simulator/wmi/object_path.h"
#include "server/simulator/wmi/schema.h"

namespace csi_proxy::machine::simulator::wmi {

// A condition on a property: it must equal `value` or, if `is_equal` is false, must differ from it.
// `value` has the property's type.
struct Condition {
  const Property* property = nullptr;
  cim::Value value;
  bool is_equal = true;
};

// `SELECT * FROM class WHERE a = 1 AND b <> 'x'`, or a list of properties instead of `*`.
struct Select {
  const Class* of = nullptr;
  // Nullopt selects all columns.
  std::optional<std::vector<const Property*>> columns;
  std::vector<Condition> where;
};

// `ASSOCIATORS OF {path} WHERE AssocClass = a ResultClass = b ResultRole = c Role = d`, with the
// four in any order.
struct AssociatorsOf {
  ObjectPath of;
  const Class* association = nullptr;
  const Class* result = nullptr;
  const Property* result_role = nullptr;
  const Property* role = nullptr;
};

using Statement = std::variant<Select, AssociatorsOf>;

// Parses a query. Returns WBEM_E_INVALID_QUERY for a malformed query, an unknown property, a
// literal of another type than the property's, or a role that the association does not have;
// WBEM_E_INVALID_CLASS for an unknown class; ParsePath()'s errors for the path in the braces. No
// error quotes the query.
absl::StatusOr<Statement> ParseWql(cim::Namespace space, absl::string_view wql);

// Returns true if an instance's property meets the condition. Ignores the case of text, but not of
// a char16. A comparison with null is never true.
bool Matches(const Condition& condition, const cim::Object& object);

}  // namespace csi_proxy::machine::simulator::wmi
