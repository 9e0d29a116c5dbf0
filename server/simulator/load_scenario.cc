// Converts a textproto to a machine.
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "server/simulator/named_scenarios.h"
#include "server/simulator/scenario.h"

namespace csi_proxy::machine::simulator {
namespace {

namespace proto = ::csi_proxy::simulated;

// Collects the errors of the text parser with file, line and column.
class Errors final : public google::protobuf::io::ErrorCollector {
 public:
  explicit Errors(absl::string_view file) : file_(file) {}
  void AddError(int line, int column, const std::string& message) override {
    if (!text_.empty()) text_ += "\n";
    absl::StrAppend(&text_, file_, ":", line + 1, ":", column + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  const std::string file_;
  std::string text_;
};

// Returns true if the text is a name. A textproto with fields has other characters, too.
bool IsName(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_';
  });
}

absl::Status NoSuchScenario(absl::string_view name, absl::string_view file_name) {
  const auto append_name = [](std::string* out, const NamedScenario& scenario) {
    absl::StrAppend(out, scenario.name);
  };
  return absl::InvalidArgumentError(
      absl::StrCat(file_name, ": no scenario is called ", name, "; there are ",
                   absl::StrJoin(NamedScenarios(), ", ", append_name)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Machine>> LoadScenario(absl::string_view textproto,
                                                      absl::string_view file_name) {
  constexpr int kMaxNesting = 32;
  if (IsName(textproto)) {
    const absl::string_view named = ScenarioNamed(textproto);
    if (named.empty()) return NoSuchScenario(textproto, file_name);
    return LoadScenario(named, textproto);
  }
  proto::Node node;
  Errors errors(file_name);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.SetRecursionLimit(kMaxNesting);
  if (!parser.ParseFromString(std::string(textproto), &node)) {
    return absl::InvalidArgumentError(errors.text());
  }
  absl::StatusOr<NodeState> state = StateFromProto(node);
  absl::StatusOr<std::unique_ptr<Machine>> made =
      state.ok() ? Machine::Create(*std::move(state)) : state.status();
  if (!made.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(file_name, ": ", made.status().message()));
  }
  return made;
}

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
