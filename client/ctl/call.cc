// Calls a method and shows its answer, once or each time that it changes.
#include <ostream>

#include "absl/strings/str_cat.h"
#include "client/ctl/commands.h"
#include "client/ctl/output.h"
#include "client/ctl/request.h"
#include "client/ctl/rpcs.h"
#include "client/ctl/terminal.h"
#include "client/ctl/watch.h"
#include "server/base/status_macros.h"

namespace csi_proxy::ctl {
namespace {

std::string NameOf(const Method& method) {
  return absl::StrCat(method.group, " ", KebabCase(method.descriptor->name()));
}

// Returns INVALID_ARGUMENT if the flags ask for something that the method does not have.
absl::Status CheckFlags(const Catalog& catalog, const Method& method, const CommandLine& line) {
  const std::string name = NameOf(method);
  if (line.output == kNameOutput && !HasNames(*method.descriptor->output_type())) {
    return Invalid("--output=name: ", name, " lists nothing that has a name");
  }
  if (line.watch > absl::ZeroDuration() && !catalog.ChangesNothing(method)) {
    return Invalid("--watch: ", name, method.version.empty() ? "" : " of " + method.version,
                   " cannot be repeated, because it may change the node");
  }
  return absl::OkStatus();
}

// Checks the flags, and makes the request from --json and the fields' flags. Returns
// INVALID_ARGUMENT if a flag or the JSON is wrong.
absl::StatusOr<std::unique_ptr<pb::Message>> MakeRequest(const Catalog& catalog,
                                                         const Method& method,
                                                         const CommandLine& line, Input& in) {
  ABSL_RETURN_IF_ERROR(CheckFlags(catalog, method, line));
  std::unique_ptr<pb::Message> request = catalog.New(method.descriptor->input_type());
  if (!line.json.empty()) {
    ABSL_ASSIGN_OR_RETURN(const std::string json, line.json == "-" ? in.Read("-") : line.json);
    ABSL_RETURN_IF_ERROR(SetFromJson(catalog, method.group, json, request.get()));
  }
  const auto read_secret = [&in](const std::string& path) { return in.ReadSecret(path); };
  ABSL_RETURN_IF_ERROR(SetFields(catalog, method.group, line.fields, read_secret, request.get()));
  return request;
}

// Returns the text of a response. `output` is that of a CommandLine.
absl::StatusOr<std::string> Show(const pb::Message& response, const std::string& output,
                                 bool on_terminal, bool on_one_line) {
  if (output == kTableOutput && on_terminal) return ToShortTable(response);
  if (output == kTableOutput || output == kWideOutput) return ToTable(response);
  if (output == kNameOutput) return ToNames(response);
  return on_one_line ? ToJson(response, true) : ToDocument(output, response);
}

watch::Before BeforeEach(const std::string& output, bool on_terminal) {
  if (on_terminal && EnableControlSequences()) return watch::Before::kCleared;
  if (output == kJsonOutput) return watch::Before::kNothing;
  return output == kYamlOutput ? watch::Before::kDashes : watch::Before::kTime;
}

}  // namespace

absl::StatusOr<int> Call(const Catalog& catalog, const CommandLine& line, const Streams& streams) {
  if (line.words.size() < 2) {
    return Invalid("name a method: `csi-proxyctl help ", line.words[0], "` lists them");
  }
  // The word is not quoted, because it may be a secret.
  if (line.words.size() > 2) {
    return Invalid("only flags may follow GROUP METHOD; give a field as --name=value");
  }
  ABSL_ASSIGN_OR_RETURN(const Method method, catalog.Find(line.words[0], line.words[1], line.api));
  ABSL_ASSIGN_OR_RETURN(const auto request, MakeRequest(catalog, method, line, streams.in));

  const bool watches = line.watch > absl::ZeroDuration();
  std::string output = line.output;
  if (output.empty()) {
    // A whole simulated node does not fit in a table.
    const bool fits = streams.out_is_terminal && method.group != kSimulatedGroup;
    output = fits ? kTableOutput : kJsonOutput;
  }
  const watch::Before before =
      watches ? BeforeEach(output, streams.out_is_terminal) : watch::Before::kNothing;
  const bool on_one_line = watches && before == watch::Before::kNothing;
  const std::unique_ptr<Pipes> pipes =
      NewRemotePipes(line.client, line.call, line.verbose ? &streams.err : nullptr);
  const auto ask = [&]() -> absl::StatusOr<std::string> {
    const std::unique_ptr<pb::Message> response = catalog.New(method.descriptor->output_type());
    ABSL_RETURN_IF_ERROR(pipes->Send(method, *request, response.get()));
    return Show(*response, output, streams.out_is_terminal, on_one_line);
  };
  if (watches) {
    watch::Environment environment = watch::InRealTime(ask);
    environment.call = NameOf(method);
    return watch::Watch(environment, line.watch, before, streams.out, streams.err);
  }
  const absl::StatusOr<std::string> answer = ask();
  if (!answer.ok()) return Complain(answer.status(), streams.err, NameOf(method));
  streams.out << *answer;
  return kOk;
}

}  // namespace csi_proxy::ctl
