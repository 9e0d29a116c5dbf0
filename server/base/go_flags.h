// Command lines as Go's flag package reads them
// (https://pkg.go.dev/flag#hdr-Command_line_flag_syntax), because our programs replace Go programs:
// reading stops at the first word that is not a flag, a value may begin with a dash, and a flag may
// be given twice.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace csi_proxy {

// The kinds of a flag's value. The last four are klog's: -v, -stderrthreshold, -vmodule and
// -log_backtrace_at.
enum class GoFlagKind {
  kBool,
  kInt,
  kUint,
  kFloat,
  kDuration,
  kText,
  kLevel,
  kSeverity,
  kVmodule,
  kBacktrace
};

struct GoFlag {
  std::string name;   // Without dashes.
  std::string value;  // `true` for a boolean flag without a value.
};

struct GoCommandLine {
  std::vector<GoFlag> flags;  // In the order of the command line.
  // True if -h or -help was given. Reading stops there.
  bool help = false;
  // The first word that is not a flag, and all words after it, without a `--` that ends the flags.
  std::vector<std::string> rest;
};

// Reads a command line, without parsing the values. `find` returns the kind of a flag, or nullopt
// if the flag does not exist; it is not called for -h and -help. Returns INVALID_ARGUMENT, naming
// the flag and the reason, if a flag does not exist, lacks its value or is malformed.
absl::StatusOr<GoCommandLine> ReadGoFlags(
    const std::vector<std::string>& arguments,
    const std::function<std::optional<GoFlagKind>(absl::string_view name)>& find);

// Returns the warning about words after the flags. REQUIRES: `rest` is not empty.
std::string IgnoredWords(const std::vector<std::string>& rest);

// Parse a value as Go does. Return nullopt if Go would refuse the text.
std::optional<bool> ParseGoBool(absl::string_view text);
std::optional<int64_t> ParseGoInt(absl::string_view text);
std::optional<uint64_t> ParseGoUint(absl::string_view text);
std::optional<absl::Duration> ParseGoDuration(absl::string_view text);

// Returns INVALID_ARGUMENT. The message says that the value of the flag is not `needs`.
absl::Status BadGoValue(const GoFlag& flag, absl::string_view needs);

// Returns BadGoValue() if Go or klog would refuse the value, else OK. Knows only decimal floats.
absl::Status CheckGoValue(const GoFlag& flag, GoFlagKind kind);

}  // namespace csi_proxy
