// The work of csi-proxyctl, apart from reading its command line.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/ctl/catalog.h"
#include "client/ctl/command_line.h"
#include "client/ctl/input.h"

namespace csi_proxy::ctl {

enum ExitCode {
  kOk = 0,
  kCallFailed = 1,   // or doctor found no pipe that answers
  kUsage = 2,        // nothing was called
  kUnreachable = 3,  // UNAVAILABLE
  kDeadline = 4,     // DEADLINE_EXCEEDED
  kFindings = 5,     // diagnose found something, or repair left something
};

// The streams that a command reads and writes. Answers go to `out`, complaints to `err`.
struct Streams {
  Input& in;
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
  // Somebody is there to be asked.
  bool in_is_terminal = false;
};

// A command of the program's own; other first words name a group.
struct Command {
  const char* name;
  // Returns an ExitCode.
  int (*run)(const Catalog& catalog, const CommandLine& line, const Streams& streams);
  // Its flags, as FieldFlags() has those of methods; null for none.
  std::vector<std::string> (*flags)() = nullptr;
  bool takes_words = false;
};
// All of them, sorted by name.
absl::Span<const Command> OwnCommands();

// Does what the command line says and returns an ExitCode.
int Run(const CommandLine& line, const Streams& streams);

// `list`: a line for each version of each group.
int List(const Catalog& catalog, std::ostream& out);

// `describe`: documentation of a group, in one version of it, or of a method.
int Describe(const Catalog& catalog, const CommandLine& line, const Streams& streams);

// A command line, quoted for a shell, that would run: on the simulated node as it is, elsewhere
// with the node's own disks, volumes and paths.
std::string ExampleOf(const Catalog& catalog, const Method& method);

// `help`, and --help after other words: the program's, a group's with a line for each method, or a
// method's.
int Help(const Catalog& catalog, const CommandLine& line, const Streams& streams);

// A script for `bash` or `zsh` that completes commands, groups, methods, fields and flags.
// INVALID_ARGUMENT for another shell.
absl::StatusOr<std::string> CompletionScript(const Catalog& catalog, absl::string_view shell);

// Everything else: calls a method.
int Call(const Catalog& catalog, const CommandLine& line, const Streams& streams);

// Prints `error: text`; returns kUsage.
int WrongUsage(absl::string_view message, std::ostream& err);

// Reads the flags of a command that takes nothing else, none of them a secret. INVALID_ARGUMENT.
absl::Status ReadFlags(const Catalog& catalog, const CommandLine& line, pb::Message* options);

// Tells whether a command that was given no --output shows a table or JSON.
bool WantsTable(const CommandLine& line, const Streams& streams);

// A report that is not shown as a table: YAML if `output` says so, else JSON.
absl::StatusOr<std::string> ToDocument(absl::string_view output, const pb::Message& report);

// Prints `error: CODE: text` for what failed; returns the exit code for it.
int ComplainBriefly(const absl::Status& status, std::ostream& err);
// The same for a call, with a hint where there is one.
int Complain(const absl::Status& status, std::ostream& err);

}  // namespace csi_proxy::ctl
