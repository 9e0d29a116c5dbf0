// Command lines as Go's flag package reads them
// (https://pkg.go.dev/flag#hdr-Command_line_flag_syntax), for programs that take the place of Go's.
// Not by boost.program_options, whose syntax differs where a manifest may rely on Go's: it does not
// stop at the first argument that is not a flag, takes no value that begins with a dash, and
// refuses a flag given twice.
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
  std::string name;   // without dashes
  std::string value;  // `true` of a boolean without one
};

struct GoCommandLine {
  std::vector<GoFlag> flags;  // in their order
  // -h or -help, which nobody has defined; what follows it is not read.
  bool help = false;
  // The first argument that is not a flag and all after it, which Go's programs do not look at.
  std::vector<std::string> rest;
};

// `find` tells the kind of a flag, or nothing if there is none of the name. INVALID_ARGUMENT names
// the flag and the reason. Values are not read yet.
absl::StatusOr<GoCommandLine> ReadGoFlags(
    const std::vector<std::string>& arguments,
    const std::function<std::optional<GoFlagKind>(absl::string_view name)>& find);

// Nothing if Go would not take the text.
std::optional<bool> ParseGoBool(absl::string_view text);
std::optional<int64_t> ParseGoInt(absl::string_view text);
std::optional<double> ParseGoFloat(absl::string_view text);
std::optional<absl::Duration> ParseGoDuration(absl::string_view text);

// INVALID_ARGUMENT if the value is not of the kind.
absl::Status CheckGoValue(absl::string_view name, GoFlagKind kind, absl::string_view value);

}  // namespace csi_proxy::sidecars
