#include "client/ctl/commands.h"

#include <fstream>
#include <iostream>
#include <sstream>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cpp/remote_channel.h"
#include "client/ctl/diagnose/diagnose.h"
#include "client/ctl/output.h"
#include "client/ctl/report/report.h"
#include "client/ctl/request.h"
#include "client/ctl/rpcs.h"
#include "client/ctl/selftest/selftest.h"
#include "client/ctl/terminal.h"
#include "client/ctl/top/top.h"
#include "server/base/status_macros.h"
#include "server/names/unicode.h"
#include "server/observability/product_version.h"

namespace csi_proxy::ctl {
namespace {

// Lists the steps against a WMI that hangs, the least harmful step first. Providers run in WmiPrvSE
// (learn.microsoft.com/windows/win32/wmisdk/provider-hosting-and-security).
constexpr char kWmiHint[] =
    "If WMI hangs for minutes, end the process WmiPrvSE on the node, which Windows starts again. "
    "If that does not help, restart the service Winmgmt, then csi-proxy; at last drain the node "
    "and reboot it.";

// Returns advice on the next step, or "" if the error needs none. `call` is that of Complain().
std::string Hint(const absl::Status& status, absl::string_view call) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      if (client::WasNotReached(status)) return "`csi-proxyctl doctor` shows which pipes answer.";
      return "";
    case absl::StatusCode::kInvalidArgument:
      if (call.empty()) return "";
      return absl::StrCat("`csi-proxyctl help ", call, "` explains the fields.");
    case absl::StatusCode::kPermissionDenied:
      // Other refusals concern credentials, services and pipes; their texts say what is needed.
      if (!absl::StrContains(status.message(), "outside")) return "";
      return "Paths must be inside the service's working directories, also behind links. If the "
             "path is right, add --working-dir=FOLDER to the service's flags.";
    case absl::StatusCode::kDeadlineExceeded:
      for (const char* const word : {"query `", "MSFT_", "WMI"}) {
        if (absl::StrContains(status.message(), word)) return kWmiHint;
      }
      return "`csi-proxyctl diagnose` lists the calls that hang; --timeout gives a slow call more "
             "time.";
    case absl::StatusCode::kResourceExhausted:
      return "Calls that repeat at once keep the service busy; `csi-proxyctl top` shows who calls.";
    default:
      return "";
  }
}

absl::StatusOr<int> Completion(const Catalog& catalog, const CommandLine& line,
                               const Streams& streams) {
  ABSL_ASSIGN_OR_RETURN(const std::string script,
                        CompletionScript(catalog, line.words.size() == 2 ? line.words[1] : ""));
  streams.out << script;
  return kOk;
}

// Runs the command of a line that has words.
absl::StatusOr<int> RunCommandOf(const Catalog& catalog, const CommandLine& line,
                                 const Streams& streams) {
  const absl::Span<const Command> commands = OwnCommands();
  const auto command =
      absl::c_find_if(commands, [&](const Command& c) { return c.name == line.words[0]; });
  if (command == commands.end()) return Call(catalog, line, streams);
  if (command->options == nullptr && !line.fields.empty()) {
    return Invalid(command->name, " has no flag --", line.fields[0].name);
  }
  if (!command->takes_words && line.words.size() > 1) {
    return Invalid(command->name, " takes no arguments",
                   command->options != nullptr ? ", only flags" : "");
  }
  if (line.watch != absl::ZeroDuration() || line.output == kNameOutput) {
    return Invalid(command->name, ": --watch and --output=name are for GROUP METHOD");
  }
  return command->run(catalog, line, streams);
}

}  // namespace

absl::Status ReadFlags(const Catalog& catalog, const CommandLine& line, const Streams& streams,
                       pb::Message* options) {
  const auto read_secret = [&](const std::string& path) { return streams.in.ReadSecret(path); };
  return SetFields(catalog, line.words[0], line.fields, read_secret, options);
}

bool WantsTable(const CommandLine& line, const Streams& streams) {
  return line.output.empty() ? streams.out_is_terminal
                             : line.output == kTableOutput || line.output == kWideOutput;
}

absl::StatusOr<std::string> ToDocument(absl::string_view output, const pb::Message& report) {
  if (output == kYamlOutput) return ToYaml(report);
  return ToJson(report);
}

int PrintReport(const pb::Message& report, const std::string& table, int code,
                const CommandLine& line, const Streams& streams) {
  const auto text = WantsTable(line, streams) ? table : ToDocument(line.output, report);
  if (!text.ok()) return Complain(text.status(), streams.err);
  streams.out << *text;
  return code;
}

int ComplainBriefly(const absl::Status& status, std::ostream& err) {
  err << "error: " << Printable(StatusText(status)) << "\n";
  if (absl::IsUnavailable(status)) return kUnreachable;
  return absl::IsDeadlineExceeded(status) ? kDeadline : kCallFailed;
}

int Complain(const absl::Status& status, std::ostream& err, absl::string_view call) {
  int code = ComplainBriefly(status, err);
  // The service was reached, and answered UNAVAILABLE itself.
  if (absl::IsUnavailable(status) && !client::WasNotReached(status)) code = kCallFailed;
  if (const std::string hint = Hint(status, call); !hint.empty()) err << "hint: " << hint << "\n";
  return code;
}

absl::Span<const Command> OwnCommands() {
  static constexpr Command kCommands[] = {
      {.name = "completion", .run = &Completion, .takes_words = true},
      {.name = "describe", .run = &Describe, .takes_words = true},
      {.name = "diagnose", .run = &Diagnose, .options = &diagnose::DiagnoseOptions::descriptor},
      {.name = "doctor", .run = &Doctor},
      {.name = "help", .run = &Help, .takes_words = true},
      {.name = "list", .run = &List},
      {.name = "repair", .run = &Repair, .options = &diagnose::RepairOptions::descriptor},
      {.name = "report", .run = &Report, .options = &report::ReportOptions::descriptor},
      {.name = "selftest", .run = &Selftest, .options = &selftest::Options::descriptor},
      {.name = "top", .run = &Top, .options = &top::Options::descriptor},
  };
  return kCommands;
}

int Run(const CommandLine& line, const Streams& streams) {
  if (line.version && !line.help) {
    streams.out << "csi-proxyctl " << kVersion << "\n";
    return kOk;
  }
  if (line.words.empty() && !line.help) {
    streams.err << HelpText();
    return kUsage;
  }
  const Catalog catalog;
  const absl::StatusOr<int> code = (line.help ? Help : RunCommandOf)(catalog, line, streams);
  if (code.ok()) return *code;
  streams.err << "error: " << code.status().message() << "\n";
  return kUsage;
}

absl::Status Input::TakeStandardInput() {
  if (taken_) {
    return Invalid(
        "only one field can be read from standard input: give the others by --FIELD-file=PATH");
  }
  taken_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::string> Input::Read(const std::string& path) {
  std::ostringstream text;
  if (path == "-") {
    ABSL_RETURN_IF_ERROR(TakeStandardInput());
    text << standard_input_.rdbuf();
    return text.str();
  }
  std::ifstream file(path, std::ios::binary);
  // Opening a directory succeeds, but reading it fails.
  if (file) file.peek();
  if (file.bad() || !file.is_open()) {
    return Invalid("cannot read the file \"", path, "\"");
  }
  if (!file.eof()) text << file.rdbuf();
  return text.str();
}

absl::StatusOr<std::string> Input::ReadLine() {
  ABSL_RETURN_IF_ERROR(TakeStandardInput());
  std::string line;
  std::getline(standard_input_, line);
  return line;
}

absl::StatusOr<std::string> Input::ReadSecret(const std::string& path) {
  if (path == "-") {
    const EchoOff echo_off;
    if (echo_off.is_terminal()) {
      std::cerr << "secret: " << std::flush;
      absl::StatusOr<std::string> line = ReadLine();
      std::cerr << "\n";
      return line;
    }
  }
  absl::StatusOr<std::string> text = Read(path);
  if (!text.ok()) return text;
  const absl::StatusOr<absl::string_view> plain = WithoutByteOrderMark(*text);
  if (!plain.ok()) {
    return Invalid("the file \"", path, "\" ", plain.status().message());
  }
  absl::string_view secret = *plain;
  if (absl::ConsumeSuffix(&secret, "\n")) absl::ConsumeSuffix(&secret, "\r");
  return std::string(secret);
}

}  // namespace csi_proxy::ctl
