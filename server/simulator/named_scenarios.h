// The scenarios of scenarios/, which are part of the program.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace csi_proxy::machine::simulator {

struct NamedScenario {
  // The name of its file, without `.textproto`.
  absl::string_view name;
  absl::string_view textproto;

  // The scenario's first line, a comment, without `# `.
  absl::string_view description() const;
};

// Returns all scenarios: first the default one, then by name.
absl::Span<const NamedScenario> NamedScenarios();
// Returns the textproto of the scenario with this name, or an empty text.
absl::string_view ScenarioNamed(absl::string_view name);
inline bool IsScenario(absl::string_view name) { return !ScenarioNamed(name).empty(); }
// Returns the node that is served if no scenario is given.
absl::string_view DefaultScenarioText();
// Returns one line per scenario: its name and its description.
std::string ListScenarios();

}  // namespace csi_proxy::machine::simulator
