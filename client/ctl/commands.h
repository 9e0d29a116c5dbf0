// The commands of csi-proxyctl.
#pragma once

#include <istream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/ctl/catalog.h"
#include "client/ctl/command_line.h"

namespace csi_proxy::ctl {

enum ExitCode {
  kOk = 0,
  kCallFailed = 1,   // or a check of the service failed
  kUsage = 2,        // nothing was called
  kUnreachable = 3,  // nothing answered
  kDeadline = 4,     // DEADLINE_EXCEEDED
  kFindings = 5,     // diagnose found something, or repair left something
};

// Input besides the command line: requests and secrets. Not thread-safe.
class Input {
 public:
  // `standard_input` is not owned and must outlive the object.
  explicit Input(std::istream& standard_input) : standard_input_(standard_input) {}

  // Reads a whole file. `-` is standard input, which can be read once. INVALID_ARGUMENT names the
  // file that cannot be read.
  absl::StatusOr<std::string> Read(const std::string& path);

  // Reads a UTF-8 file, without a byte-order mark and the last line break. Reads one line, without
  // echo, if `path` is `-` and standard input is a terminal.
  absl::StatusOr<std::string> ReadSecret(const std::string& path);

  // Reads one line of standard input. Nothing can be read from it afterwards.
  absl::StatusOr<std::string> ReadLine();

 private:
  // Returns OK on the first call and INVALID_ARGUMENT on later calls.
  absl::Status TakeStandardInput();

  std::istream& standard_input_;
  bool taken_ = false;
};

// The streams that a command reads and writes. Answers go to `out`, errors to `err`.
struct Streams {
  Input& in;
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
  // True if a person can be asked.
  bool in_is_terminal = false;
};

// Reads the command's flags, runs the command, prints its result, and returns an ExitCode. Returns
// INVALID_ARGUMENT if the usage is wrong; nothing has been called or printed then.
using RunCommand = absl::StatusOr<int>(const Catalog& catalog, const CommandLine& line,
                                       const Streams& streams);

// A command of the program itself. Any other first word is a group.
struct Command {
  const char* name;
  RunCommand* run;
  // Returns the message whose fields are the command's flags. Null: it has none.
  const pb::Descriptor* (*options)() = nullptr;
  bool takes_words = false;
};
// Returns all commands, sorted by name.
absl::Span<const Command> OwnCommands();

// Runs a command line and returns an ExitCode.
int Run(const CommandLine& line, const Streams& streams);

// Call() calls the method of `GROUP METHOD` and prints its response. Describe() prints the
// documentation of a group, in one version of it, or of a method. Doctor() examines the pipes of
// all released versions, makes one call of each group, and returns kCallFailed if no pipe answers.
// Help() prints the help of the program, of a group (a line per method) or of a method. List()
// prints a line for each version of each group.
RunCommand Call, Describe, Diagnose, Doctor, Help, List, Repair, Report, Selftest, Top;

// Returns an example of a command line, quoted for a shell. It works on the simulated node
// unchanged, and elsewhere with the node's own disks, volumes and paths.
std::string ExampleOf(const Catalog& catalog, const Method& method);

// Returns a script for `bash`, `zsh` or `powershell` that completes commands, groups, methods,
// fields and flags. INVALID_ARGUMENT for another shell.
absl::StatusOr<std::string> CompletionScript(const Catalog& catalog, absl::string_view shell);

// Reads the flags of a command that accepts only flags. INVALID_ARGUMENT names the wrong flag.
absl::Status ReadFlags(const Catalog& catalog, const CommandLine& line, const Streams& streams,
                       pb::Message* options);

// Returns true if the command prints a table: by its --output or, without --output, at a terminal.
bool WantsTable(const CommandLine& line, const Streams& streams);

// Returns a report as YAML if `output` is yaml, otherwise as JSON.
absl::StatusOr<std::string> ToDocument(absl::string_view output, const pb::Message& report);

// Prints a report as `table` if WantsTable(), otherwise by ToDocument(). Returns `code`.
int PrintReport(const pb::Message& report, const std::string& table, int code,
                const CommandLine& line, const Streams& streams);

// Prints `error: CODE: text` and returns the exit code for the error.
int ComplainBriefly(const absl::Status& status, std::ostream& err);
// Does what ComplainBriefly() does and prints a hint if any, but returns kCallFailed for the
// service's own UNAVAILABLE. `call` is the method that failed, as `volume mount-volume`, or "".
int Complain(const absl::Status& status, std::ostream& err, absl::string_view call = "");

}  // namespace csi_proxy::ctl
