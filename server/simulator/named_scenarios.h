// The nodes that are part of the program, from scenarios/.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace csi_proxy::machine::simulated {

struct NamedScenario {
  // As of its file, without `.textproto`.
  absl::string_view name;
  absl::string_view textproto;

  // Its first comment.
  absl::string_view description() const;
};

// The first is the default one; the others follow by name.
absl::Span<const NamedScenario> NamedScenarios();
// The textproto of the one with this name; empty when there is none.
absl::string_view ScenarioNamed(absl::string_view name);
inline bool IsScenario(absl::string_view name) { return !ScenarioNamed(name).empty(); }
// The node that is served when no scenario is given.
absl::string_view DefaultScenarioText();
// A line for each: its name and its description.
std::string ListScenarios();

}  // namespace csi_proxy::machine::simulated
