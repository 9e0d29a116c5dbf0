// Splits a command line into words, flags of the program and fields of a request.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/ctl/request.h"
#include "csi_proxy/call_options.h"
#include "csi_proxy/connection.h"

namespace csi_proxy::ctl {

// The values of --output.
inline constexpr char kJsonOutput[] = "json";
inline constexpr char kTableOutput[] = "table";  // On a terminal, only the most useful columns.
inline constexpr char kWideOutput[] = "wide";    // A table of all columns.
inline constexpr char kYamlOutput[] = "yaml";
inline constexpr char kNameOutput[] = "name";
inline constexpr const char* kOutputs[] = {kJsonOutput, kYamlOutput, kTableOutput, kWideOutput,
                                           kNameOutput};

struct CommandLine {
  // The arguments that are not flags: `volume mount-volume`.
  std::vector<std::string> words;
  // The flags that are not the program's own, in the order of the command line.
  std::vector<FieldArgument> fields;

  std::string api;     // The version, or "" for the preferred version.
  std::string json;    // The request, or `-` for standard input, or "" for none.
  std::string output;  // One of the values above, or "" if the command chooses.
  // The pause between two calls. Zero means a single call.
  absl::Duration watch = absl::ZeroDuration();
  bool has_timeout = false;  // --timeout is given.
  bool verbose = false;
  bool help = false;
  bool version = false;
  ClientOptions client;  // Always remote, because the program exists to reach the service.
  CallOptions call;
};

// Parses a command line, without the program's name. Accepts one dash instead of two, as Go's
// programs do. The value of the program's own flags follows `=` or, except for --watch, is the next
// argument. After `--` all flags are fields; fields named like a flag of the program must be there.
// INVALID_ARGUMENT names the flag, but never quotes the value of a field, which may be a secret.
absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments);

// Returns the program's own flags for completion: `--api`.
std::vector<std::string> OwnFlags();

// Returns the text that --help prints.
std::string HelpText();

}  // namespace csi_proxy::ctl
