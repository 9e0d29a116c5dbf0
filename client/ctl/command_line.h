// Reads a command line: which words, flags of the program, and fields of a request it holds.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/ctl/request.h"
#include "csi_proxy/call_options.h"
#include "csi_proxy/connection.h"

namespace csi_proxy::ctl {

// The values of --output.
inline constexpr char kJsonOutput[] = "json";
inline constexpr char kTableOutput[] = "table";  // at a terminal only the columns a person needs
inline constexpr char kWideOutput[] = "wide";    // a table of all columns
inline constexpr char kYamlOutput[] = "yaml";
inline constexpr char kNameOutput[] = "name";
inline constexpr const char* kOutputs[] = {kJsonOutput, kYamlOutput, kTableOutput, kWideOutput,
                                           kNameOutput};

struct CommandLine {
  // Everything that is not a flag: `volume mount-volume`.
  std::vector<std::string> words;
  // Flags that are not the program's own, in order.
  std::vector<FieldArgument> fields;

  std::string api;     // version; empty: the preferred one
  std::string json;    // the request; `-` reads standard input; empty: none
  std::string output;  // one of those below; empty: as fits
  // The pause between two calls; zero: one call.
  absl::Duration watch = absl::ZeroDuration();
  bool verbose = false;
  bool help = false;
  bool version = false;
  ClientOptions client;  // always remote: the tool exists to reach the service
  CallOptions call;
};

// One dash does for two, as Go's programs have it, and the program's own flags take their value
// after `=` or as the next argument. After `--` every flag is a field, so that fields with the name
// of a flag can be given. INVALID_ARGUMENT names the flag, and repeats no value of a field, which
// may be a secret.
absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments);

// The program's own flags, as completions offer them: `--api`.
std::vector<std::string> OwnFlags();

// The text that --help prints.
std::string HelpText();

}  // namespace csi_proxy::ctl
