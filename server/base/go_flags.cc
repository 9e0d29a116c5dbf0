#include "server/base/go_flags.h"

#include <charconv>
#include <cstddef>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"

namespace csi_proxy {
namespace {

// Parses as https://pkg.go.dev/strconv#ParseUint does: base 0 reads the prefixes 0x, 0o, 0b and 0,
// and allows underscores between digits.
std::optional<uint64_t> ParseMagnitude(absl::string_view text, int base) {
  std::string digits(text);
  if (base == 0) {
    base = 10;
    const bool prefix = text.size() > 1 && text[0] == '0';
    if (prefix) {
      const char letter = static_cast<char>(text[1] | 0x20);
      base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
      digits.erase(0, letter == 'x' || letter == 'b' || letter == 'o' ? 2 : 1);
    }
    if (absl::StrContains(digits, "__") || absl::EndsWith(digits, "_") ||
        (!prefix && absl::StartsWith(digits, "_"))) {
      return std::nullopt;
    }
    absl::StrReplaceAll({{"_", ""}}, &digits);
  }
  uint64_t magnitude = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, magnitude, base);
  if (digits.empty() || error != std::errc() || stop != end) return std::nullopt;
  return magnitude;
}

// Parses a number from -most - 1 to `most` as https://pkg.go.dev/strconv#ParseInt does.
std::optional<int64_t> ParseSigned(absl::string_view text, int base, int64_t most) {
  const bool negative = absl::ConsumePrefix(&text, "-");
  if (!negative) absl::ConsumePrefix(&text, "+");
  const std::optional<uint64_t> magnitude = ParseMagnitude(text, base);
  if (!magnitude.has_value() || *magnitude > static_cast<uint64_t>(most) + (negative ? 1 : 0)) {
    return std::nullopt;
  }
  return static_cast<int64_t>(negative ? 0 - *magnitude : *magnitude);
}

std::optional<int64_t> ParseLevel(absl::string_view text) {
  return ParseSigned(text, 10, INT32_MAX);
}

// The three functions below follow klog's Set() of these flags
// (https://github.com/kubernetes/klog/blob/v2.140.0/klog.go).
bool IsSeverity(absl::string_view text) {
  constexpr absl::string_view kNames[] = {"INFO", "WARNING", "ERROR", "FATAL"};
  return absl::c_linear_search(kNames, absl::AsciiStrToUpper(text)) || ParseLevel(text).has_value();
}

bool IsVmodule(absl::string_view text) {
  return absl::c_all_of(absl::StrSplit(text, ',', absl::SkipEmpty()), [](absl::string_view item) {
    const std::vector<absl::string_view> parts = absl::StrSplit(item, '=');
    return parts.size() == 2 && !parts[0].empty() && ParseLevel(parts[1]).value_or(-1) >= 0;
  });
}

bool IsBacktrace(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  return text.empty() || (parts.size() == 2 && absl::StrContains(parts[0], '.') &&
                          ParseSigned(parts[1], 10, INT64_MAX).value_or(0) > 0);
}

// Returns true for a decimal number of any size, inf or nan (pkg.go.dev/strconv#ParseFloat).
bool IsFloat(absl::string_view text) {
  double value = 0;
  // abseil ignores spaces around a number, but Go refuses such spaces.
  return absl::StripAsciiWhitespace(text) == text && absl::SimpleAtod(text, &value);
}

// Returns true if `parse` returns a value.
template <auto parse>
bool Parses(absl::string_view text) {
  return parse(text).has_value();
}

}  // namespace

absl::StatusOr<GoCommandLine> ReadGoFlags(
    const std::vector<std::string>& arguments,
    const std::function<std::optional<GoFlagKind>(absl::string_view name)>& find) {
  GoCommandLine line;
  absl::Span<const std::string> words = arguments;
  while (!words.empty()) {
    const absl::string_view word = words.front();
    if (word.size() < 2 || word[0] != '-') break;
    words.remove_prefix(1);
    if (word == "--") break;
    absl::string_view name = word.substr(word[1] == '-' ? 2 : 1);
    if (name[0] == '-' || name[0] == '=') {
      return absl::InvalidArgumentError(absl::StrCat(word, ": not the form of a flag"));
    }
    std::optional<std::string> value;
    if (const size_t equals = name.find('='); equals != name.npos) {
      value = std::string(name.substr(equals + 1));
      name = name.substr(0, equals);
    }
    line.help = name == "h" || name == "help";
    if (line.help) return line;
    const std::optional<GoFlagKind> kind = find(name);
    if (!kind.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("--", name, ": there is no such flag"));
    }
    if (!value.has_value() && *kind == GoFlagKind::kBool) value = "true";
    if (!value.has_value()) {
      if (words.empty()) {
        return absl::InvalidArgumentError(absl::StrCat("--", name, ": needs a value"));
      }
      value = words.front();
      words.remove_prefix(1);
    }
    line.flags.push_back({.name = std::string(name), .value = *std::move(value)});
  }
  line.rest.assign(words.begin(), words.end());
  return line;
}

std::string IgnoredWords(const std::vector<std::string>& rest) {
  return absl::StrCat("the first word that is not a flag ends the flags; ignored: \"",
                      absl::StrJoin(rest, "\" \""), "\"");
}

// Parses a boolean as https://pkg.go.dev/strconv#ParseBool does.
std::optional<bool> ParseGoBool(absl::string_view text) {
  constexpr absl::string_view kTrue[] = {"1", "t", "T", "true", "TRUE", "True"};
  constexpr absl::string_view kFalse[] = {"0", "f", "F", "false", "FALSE", "False"};
  const bool is_true = absl::c_linear_search(kTrue, text);
  if (!is_true && !absl::c_linear_search(kFalse, text)) return std::nullopt;
  return is_true;
}

std::optional<int64_t> ParseGoInt(absl::string_view text) {
  return ParseSigned(text, 0, INT64_MAX);
}

std::optional<uint64_t> ParseGoUint(absl::string_view text) { return ParseMagnitude(text, 0); }

// Parses a duration as https://pkg.go.dev/time#ParseDuration does.
std::optional<absl::Duration> ParseGoDuration(absl::string_view text) {
  // Go accepts the micro sign and the Greek letter, and refuses durations beyond 64 bits of
  // nanoseconds.
  const std::string plain = absl::StrReplaceAll(text, {{"µs", "us"}, {"μs", "us"}});
  absl::Duration duration;
  if (!absl::ParseDuration(plain, &duration) ||
      absl::AbsDuration(duration) > absl::Nanoseconds(INT64_MAX)) {
    return std::nullopt;
  }
  return duration;
}

absl::Status BadGoValue(const GoFlag& flag, absl::string_view needs) {
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag.name, ": \"", flag.value, "\" is not ", needs));
}

absl::Status CheckGoValue(const GoFlag& flag, GoFlagKind kind) {
  const struct {
    absl::string_view needs;
    bool (*accepts)(absl::string_view text);
  } kKinds[] = {
      {"true or false", &Parses<ParseGoBool>},
      {"a whole number", &Parses<ParseGoInt>},
      {"a whole number from 0", &Parses<ParseGoUint>},
      {"a number", &IsFloat},
      {"a duration such as 500ms, 10s or 1m30s", &Parses<ParseGoDuration>},
      {"a text", [](absl::string_view) { return true; }},
      {"a whole number of 32 bits", &Parses<ParseLevel>},
      {"INFO, WARNING, ERROR, FATAL or a whole number", &IsSeverity},
      {"a list of FILE=N with N from 0", &IsVmodule},
      {"FILE.go:LINE with LINE from 1", &IsBacktrace},
  };
  const auto& [needs, accepts] = kKinds[static_cast<size_t>(kind)];
  return accepts(flag.value) ? absl::OkStatus() : BadGoValue(flag, needs);
}

}  // namespace csi_proxy
