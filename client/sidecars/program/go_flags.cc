#include <charconv>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/sidecars/program/flags.h"

namespace csi_proxy::sidecars {
namespace {

std::vector<std::string> RestOf(const std::vector<std::string>& arguments, size_t begin) {
  return {std::next(arguments.begin(), static_cast<ptrdiff_t>(begin)), arguments.end()};
}

}  // namespace

absl::StatusOr<GoCommandLine> ReadGoFlags(
    const std::vector<std::string>& arguments,
    const std::function<std::optional<GoFlagKind>(absl::string_view name)>& find) {
  GoCommandLine line;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const absl::string_view argument = arguments[i];
    if (argument.size() < 2 || argument[0] != '-') {
      line.rest = RestOf(arguments, i);
      return line;
    }
    absl::string_view name = argument.substr(argument[1] == '-' ? 2 : 1);
    if (argument == "--") {
      line.rest = RestOf(arguments, i + 1);
      return line;
    }
    if (name.empty() || name[0] == '-' || name[0] == '=') {
      return absl::InvalidArgumentError(absl::StrCat(argument, ": not the form of a flag"));
    }
    std::optional<std::string> value;
    if (const size_t equals = name.find('='); equals != name.npos) {
      value = std::string(name.substr(equals + 1));
      name = name.substr(0, equals);
    }
    const std::optional<GoFlagKind> kind = find(name);
    if (!kind.has_value()) {
      if (name == "h" || name == "help") {
        line.help = true;
        return line;
      }
      return absl::InvalidArgumentError(absl::StrCat("--", name, ": there is no such flag"));
    }
    if (!value.has_value() && *kind == GoFlagKind::kBool) value = "true";
    if (!value.has_value()) {
      if (++i == arguments.size()) {
        return absl::InvalidArgumentError(absl::StrCat("--", name, ": needs a value"));
      }
      value = arguments[i];
    }
    line.flags.push_back({.name = std::string(name), .value = *std::move(value)});
  }
  return line;
}

// Parses a boolean as https://pkg.go.dev/strconv#ParseBool does.
std::optional<bool> ParseGoBool(absl::string_view text) {
  for (const absl::string_view yes : {"1", "t", "T", "true", "TRUE", "True"}) {
    if (text == yes) return true;
  }
  for (const absl::string_view no : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

// Parses as https://pkg.go.dev/strconv#ParseInt does with base 0, but refuses underscores.
std::optional<int64_t> ParseGoInt(absl::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative || (!text.empty() && text[0] == '+')) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char letter = static_cast<char>(text[1] | 0x20);
    base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
    text.remove_prefix(letter == 'x' || letter == 'b' || letter == 'o' ? 2 : 1);
  }
  uint64_t magnitude = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, magnitude, base);
  if (text.empty() || error != std::errc() || stop != end || magnitude > uint64_t{INT64_MAX}) {
    return std::nullopt;
  }
  const auto value = static_cast<int64_t>(magnitude);
  return negative ? -value : value;
}

// Parses a number as https://pkg.go.dev/strconv#ParseFloat does, but refuses underscores.
std::optional<double> ParseGoFloat(absl::string_view text) {
  double value = 0;
  // abseil ignores spaces around a number, but Go refuses them.
  if (absl::StripAsciiWhitespace(text) != text || !absl::SimpleAtod(text, &value)) {
    return std::nullopt;
  }
  return value;
}

// Parses a duration as https://pkg.go.dev/time#ParseDuration does.
std::optional<absl::Duration> ParseGoDuration(absl::string_view text) {
  // Go accepts the micro sign and the Greek letter, and refuses infinite durations.
  const std::string plain = absl::StrReplaceAll(text, {{"µs", "us"}, {"μs", "us"}});
  absl::Duration duration;
  if (absl::StrContains(plain, "inf") || !absl::ParseDuration(plain, &duration) ||
      absl::AbsDuration(duration) > absl::Nanoseconds(INT64_MAX)) {
    return std::nullopt;
  }
  return duration;
}

absl::Status CheckGoValue(absl::string_view name, GoFlagKind kind, absl::string_view value) {
  absl::string_view what;
  switch (kind) {
    case GoFlagKind::kBool:
      if (!ParseGoBool(value).has_value()) what = "neither true nor false";
      break;
    case GoFlagKind::kInt:
      if (!ParseGoInt(value).has_value()) what = "not a whole number";
      break;
    case GoFlagKind::kFloat:
      if (!ParseGoFloat(value).has_value()) what = "not a number";
      break;
    case GoFlagKind::kDuration:
      if (!ParseGoDuration(value).has_value()) what = "not a duration such as 500ms, 10s or 1m30s";
      break;
    case GoFlagKind::kString:
      break;
  }
  if (what.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--", name, ": \"", value, "\" is ", what));
}

}  // namespace csi_proxy::sidecars
