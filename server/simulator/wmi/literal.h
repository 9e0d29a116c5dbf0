// Values as WMI reads them in queries and object paths.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "server/machine/cim/value.h"

namespace csi_proxy::machine::simulated::wmi {

// Takes what a property is compared with from the front of `text`: text in either kind of quotes,
// in which `\` must stand before a `\` or a quote and before nothing else (quotes that are doubled
// end the literal: learn.microsoft.com/windows/win32/wmisdk/where-clause), bare decimal digits, or
// TRUE and FALSE, whichever `type` asks for. Nothing, `text` then being of no more use, when
// there is no literal of that type.
std::optional<cim::Value> TakeLiteral(absl::string_view* text, cim::Type type);

// A name of a class or property, at least one character; nothing when there is none.
std::optional<absl::string_view> TakeName(absl::string_view* text);

// `text` between double quotes, escaped.
std::string Quoted(absl::string_view text);

}  // namespace csi_proxy::machine::simulated::wmi
