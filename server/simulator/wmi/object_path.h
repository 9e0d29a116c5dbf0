// Parses the values that queries and object paths contain, and the path of an object in a
// namespace: `Class.Key="value"`, WMI's `__RELPATH`.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/machine/cim/session.h"
#include "server/machine/cim/value.h"
#include "server/simulator/wmi/schema.h"

namespace csi_proxy::machine::simulator::wmi {

// Takes a literal of `type` from the front of `text`: text in single or double quotes, decimal
// digits, bare or in single quotes, or TRUE or FALSE. In text, `\` may only precede, and escapes, a
// `\` or a quote; a doubled quote is not an escape but ends the literal
// (learn.microsoft.com/windows/win32/wmisdk/where-clause). If `text` does not begin with such a
// literal, returns nullopt; then `text` must not be used.
std::optional<cim::Value> TakeLiteral(absl::string_view* text, cim::Type type);

// Takes the name of a class or property, of at least one character, or returns nullopt.
std::optional<absl::string_view> TakeName(absl::string_view* text);

// Returns `text` between double quotes, escaped.
std::string Quoted(absl::string_view text);

// Returns the path of an instance with these keys, in the order of the class. Missing keys are
// empty text. Instances of a class without keys have no path: returns an empty text.
std::string MakePath(const Class& of, const cim::Properties& keys);

struct ObjectPath {
  const Class* of = nullptr;
  // The path in MakePath()'s spelling; empty if it names the class itself.
  std::string instance;
  // The values of the keys, by property.
  cim::Properties keys;
};

// Parses a whole relative path. Returns WBEM_E_INVALID_OBJECT_PATH if the text is not a path, or
// the class has other keys; WBEM_E_INVALID_CLASS for an unknown class.
absl::StatusOr<ObjectPath> ParsePath(cim::Namespace space, absl::string_view text);

// Takes the path from the front of `text` and leaves the rest.
absl::StatusOr<ObjectPath> TakePath(cim::Namespace space, absl::string_view* text);

}  // namespace csi_proxy::machine::simulator::wmi
