// Parses values as WMI reads them in queries and object paths.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "server/machine/cim/value.h"

namespace csi_proxy::machine::simulator::wmi {

// Takes a literal of `type` from the front of `text`: text in either kind of quotes, in which `\`
// must stand before a `\` or a quote and before nothing else (doubled quotes end the literal:
// learn.microsoft.com/windows/win32/wmisdk/where-clause), bare decimal digits, or TRUE and FALSE.
// Returns nullopt if there is none; `text` must not be used then.
std::optional<cim::Value> TakeLiteral(absl::string_view* text, cim::Type type);

// Takes a class's or property's name, of at least one character; nullopt if there is none.
std::optional<absl::string_view> TakeName(absl::string_view* text);

// Returns `text` between double quotes, escaped.
std::string Quoted(absl::string_view text);

}  // namespace csi_proxy::machine::simulator::wmi
