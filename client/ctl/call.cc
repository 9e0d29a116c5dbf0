// Calls a method and shows its answer, once or each time that it changes.
#include <ostream>

#include "absl/strings/str_cat.h"
#include "client/cpp/pipe_path.h"
#include "client/cpp/remote_channel.h"
#include "client/ctl/commands.h"
#include "client/ctl/output.h"
#include "client/ctl/request.h"
#include "client/ctl/terminal.h"
#include "client/ctl/watch.h"
#include "server/base/status_macros.h"

namespace csi_proxy::ctl {
namespace {

absl::StatusOr<std::shared_ptr<client::RemoteChannel>> OpenFor(const Method& method,
                                                               const ClientOptions& options) {
  if (method.group != kSimulatedGroup) {
    return client::RemoteChannel::Open(options, method.group, method.version);
  }
  return client::RemoteChannel::OpenPath(options, client::PipePath(options, kAdminPipe));
}

// Makes the request from --json and the fields' flags. INVALID_ARGUMENT.
absl::StatusOr<std::unique_ptr<pb::Message>> MakeRequest(const Catalog& catalog,
                                                         const Method& method,
                                                         const CommandLine& line, Input& in) {
  std::unique_ptr<pb::Message> request = catalog.New(method.descriptor->input_type());
  if (!line.json.empty()) {
    ABSL_ASSIGN_OR_RETURN(const std::string json, line.json == "-" ? in.Read("-") : line.json);
    absl::Status status = SetFromJson(catalog, method.group, json, request.get());
    if (!status.ok()) return status;
  }
  const auto read_secret = [&in](const std::string& path) { return in.ReadSecret(path); };
  absl::Status status = SetFields(catalog, method.group, line.fields, read_secret, request.get());
  if (!status.ok()) return status;
  return request;
}

// Returns the text of a response. `output` is that of a CommandLine.
absl::StatusOr<std::string> Show(const pb::Message& response, const std::string& output,
                                 bool on_terminal, bool on_one_line) {
  if (output == kTableOutput && on_terminal) return ToShortTable(response);
  if (output == kTableOutput || output == kWideOutput) return ToTable(response);
  if (output == kNameOutput) return ToNames(response);
  return on_one_line ? ToJsonLine(response) : ToDocument(output, response);
}

watch::Before BeforeEach(const std::string& output, bool on_terminal) {
  if (on_terminal && EnableControlSequences()) return watch::Before::kCleared;
  if (output == kJsonOutput) return watch::Before::kNothing;
  return output == kYamlOutput ? watch::Before::kDashes : watch::Before::kTime;
}

std::string NameOf(const Method& method) {
  return absl::StrCat(method.group, " ", KebabCase(method.descriptor->name()));
}

// Returns INVALID_ARGUMENT if the flags ask for something that the method does not have.
absl::Status CheckFlags(const Catalog& catalog, const Method& method, const CommandLine& line) {
  const std::string name = NameOf(method);
  if (line.output == kNameOutput && !HasNames(*method.descriptor->output_type())) {
    return absl::InvalidArgumentError(
        absl::StrCat("--output=name: ", name, " lists nothing that has a name"));
  }
  if (line.watch > absl::ZeroDuration() && !catalog.ChangesNothing(method)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--watch: ", name, method.version.empty() ? "" : " of " + method.version,
                     " cannot be repeated, because it may change the node"));
  }
  return absl::OkStatus();
}

}  // namespace

int Call(const Catalog& catalog, const CommandLine& line, const Streams& streams) {
  if (line.words.size() < 2) {
    return WrongUsage(
        absl::StrCat("name a method: `csi-proxyctl help ", line.words[0], "` lists them"),
        streams.err);
  }
  if (line.words.size() > 2) {
    // The word is not quoted, because it may be a secret.
    return WrongUsage("only flags may follow GROUP METHOD; give a field as --name=value",
                      streams.err);
  }
  const absl::StatusOr<Method> method = catalog.Find(line.words[0], line.words[1], line.api);
  if (!method.ok()) return WrongUsage(method.status(), streams.err);
  if (const auto s = CheckFlags(catalog, *method, line); !s.ok()) return WrongUsage(s, streams.err);
  const auto request = MakeRequest(catalog, *method, line, streams.in);
  if (!request.ok()) return WrongUsage(request.status(), streams.err);

  const bool watches = line.watch > absl::ZeroDuration();
  std::string output = line.output;
  if (output.empty()) {
    // A whole simulated node does not fit in a table.
    const bool fits = streams.out_is_terminal && method->group != kSimulatedGroup;
    output = fits ? kTableOutput : kJsonOutput;
  }
  const watch::Before before =
      watches ? BeforeEach(output, streams.out_is_terminal) : watch::Before::kNothing;
  const bool on_one_line = watches && before == watch::Before::kNothing;
  std::shared_ptr<client::RemoteChannel> channel;
  const auto ask = [&]() -> absl::StatusOr<std::string> {
    if (channel == nullptr) {
      ABSL_ASSIGN_OR_RETURN(channel, OpenFor(*method, line.client));
      if (line.verbose) {
        streams.err << "calling " << method->path() << " on " << channel->path() << "\n";
      }
    }
    const std::unique_ptr<pb::Message> response = catalog.New(method->descriptor->output_type());
    ABSL_RETURN_IF_ERROR(channel->Call(
        method->path().c_str(), client::MakeCallContext(line.call, {}), **request, response.get()));
    return Show(*response, output, streams.out_is_terminal, on_one_line);
  };
  if (watches) {
    watch::Environment environment = watch::InRealTime(ask);
    environment.call = NameOf(*method);
    return watch::Watch(environment, line.watch, before, streams.out, streams.err);
  }
  const absl::StatusOr<std::string> answer = ask();
  if (!answer.ok()) return Complain(answer.status(), streams.err, NameOf(*method));
  streams.out << *answer;
  return kOk;
}

}  // namespace csi_proxy::ctl
