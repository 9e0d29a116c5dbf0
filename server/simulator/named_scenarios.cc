#include "server/simulator/named_scenarios.h"

#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace csi_proxy::machine::simulator {

absl::string_view NamedScenario::description() const {
  absl::string_view line = textproto.substr(0, textproto.find('\n'));
  absl::ConsumePrefix(&line, "# ");
  return line;
}

absl::string_view ScenarioNamed(absl::string_view name) {
  for (const NamedScenario& scenario : NamedScenarios()) {
    if (scenario.name == name) return scenario.textproto;
  }
  return "";
}

absl::string_view DefaultScenarioText() { return NamedScenarios().front().textproto; }

std::string ListScenarios() {
  std::string lines;
  for (const NamedScenario& scenario : NamedScenarios()) {
    absl::StrAppendFormat(&lines, "%-26s %s\n", scenario.name, scenario.description());
  }
  return lines;
}

}  // namespace csi_proxy::machine::simulator
