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

// Takes a literal of `type` from the front of `text`: text in single or double quotes, TRUE or
// FALSE, or decimal digits, which may be in single quotes. In text, `\` may stand only before a `\`
// or a quote, and escapes it. A doubled quote is no escape: its first quote ends the literal
// (learn.microsoft.com/windows/win32/wmisdk/where-clause). Returns nullopt if `text` does not begin
// with such a literal. Then `text` must not be used.
std::optional<cim::Value> TakeLiteral(absl::string_view* text, cim::Type type);

// Takes the name of a class or property from the front of `text`, or returns nullopt.
std::optional<absl::string_view> TakeName(absl::string_view* text);

// Returns `text` between double quotes, escaped.
std::string Quoted(absl::string_view text);

// Returns the path of the instance with these keys, in the order of the class. A missing key
// becomes the empty text `""`. An instance of a class without keys has no path: returns
// an empty string.
std::string MakePath(const Class& of, const cim::Properties& keys);

struct ObjectPath {
  const Class* of = nullptr;
  // The path in MakePath()'s spelling; empty if it names the class itself.
  std::string instance;
  // The values of the keys, by property.
  cim::Properties keys;
};

// Parses a relative path. Returns WBEM_E_INVALID_OBJECT_PATH if the text is not exactly one path,
// or if the class has other keys; WBEM_E_INVALID_CLASS for an unknown class.
absl::StatusOr<ObjectPath> ParsePath(cim::Namespace space, absl::string_view text);

// Takes a path from the front of `text`. Returns ParsePath()'s errors, but allows further text.
absl::StatusOr<ObjectPath> TakePath(cim::Namespace space, absl::string_view* text);

}  // namespace csi_proxy::machine::simulator::wmi
