// Reads command lines as Go's flag package does
// (https://pkg.go.dev/flag#hdr-Command_line_flag_syntax), for programs that replace Go programs.
// boost.program_options does not fit, because manifests may rely on Go's syntax: reading stops at
// the first argument that is not a flag, a value may begin with a dash, and a flag may be given
// twice.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace csi_proxy::sidecars {

enum class GoFlagKind { kBool, kInt, kFloat, kDuration, kString };

struct GoFlag {
  std::string name;   // Without dashes.
  std::string value;  // `true` for a boolean flag without a value.
};

struct GoCommandLine {
  std::vector<GoFlag> flags;  // In the order of the command line.
  // True if -h or -help was given and no such flag exists. Reading stops there.
  bool help = false;
  // The first argument that is not a flag, and all arguments after it.
  std::vector<std::string> rest;
};

// Reads a command line, without parsing the values. `find` returns the kind of a flag, or nullopt
// if it does not exist. INVALID_ARGUMENT naming the flag and the reason.
absl::StatusOr<GoCommandLine> ReadGoFlags(
    const std::vector<std::string>& arguments,
    const std::function<std::optional<GoFlagKind>(absl::string_view name)>& find);

// Return nullopt if Go would refuse the text.
std::optional<bool> ParseGoBool(absl::string_view text);
std::optional<int64_t> ParseGoInt(absl::string_view text);
std::optional<double> ParseGoFloat(absl::string_view text);
std::optional<absl::Duration> ParseGoDuration(absl::string_view text);

// Returns INVALID_ARGUMENT naming the flag if the value is not of the kind.
absl::Status CheckGoValue(absl::string_view name, GoFlagKind kind, absl::string_view value);

}  // namespace csi_proxy::sidecars
