// The queries that clients of the simulated WMI ask, taken as strictly as WMI takes them.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/machine/cim/session.h"
#include "server/simulator/wmi/object_path.h"
#include "server/simulator/wmi/schema.h"

namespace csi_proxy::machine::simulated::wmi {

// A property and what it must be equal to, or must not, of the property's type.
struct Condition {
  const Property* property = nullptr;
  cim::Value value;
  bool is_equal = true;
};

// `SELECT * FROM class WHERE a = 1 AND b <> 'x'`, or a list of properties instead of `*`.
struct Select {
  const Class* of = nullptr;
  // Nothing for all.
  std::optional<std::vector<const Property*>> columns;
  std::vector<Condition> where;
};

// `ASSOCIATORS OF {path} WHERE AssocClass = a ResultClass = b ResultRole = c Role = d`, the four in
// any order.
struct AssociatorsOf {
  ObjectPath of;
  const Class* association = nullptr;
  const Class* result = nullptr;
  const Property* result_role = nullptr;
  const Property* role = nullptr;
};

using Statement = std::variant<Select, AssociatorsOf>;

// WBEM_E_INVALID_QUERY for anything else: also for a property the class does not have, a literal
// that is not of the property's type, an association without such a role. WBEM_E_INVALID_CLASS;
// for the path in the braces as ParsePath(). No error quotes the query.
absl::StatusOr<Statement> ParseWql(cim::Namespace space, absl::string_view wql);

// Returns whether an instance's property is as the condition asks: text is compared without case, a
// char16 with case, null equals nothing and differs from nothing.
bool Matches(const Condition& condition, const cim::Object& object);

}  // namespace csi_proxy::machine::simulated::wmi
