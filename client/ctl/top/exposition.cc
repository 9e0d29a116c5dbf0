#include "client/ctl/top/exposition.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace csi_proxy::ctl::top {
namespace {

bool IsNameCharacter(char c, bool first) {
  const auto u = static_cast<unsigned char>(c);
  return absl::ascii_isalpha(u) || c == '_' || c == ':' || (!first && absl::ascii_isdigit(u));
}

// Removes a name from the front and returns it; "" if there is none.
std::string TakeName(absl::string_view* rest) {
  size_t length = 0;
  while (length < rest->size() && IsNameCharacter((*rest)[length], length == 0)) ++length;
  std::string name(rest->substr(0, length));
  rest->remove_prefix(length);
  return name;
}

void TakeBlanks(absl::string_view* rest) {
  while (!rest->empty() && (rest->front() == ' ' || rest->front() == '\t')) rest->remove_prefix(1);
}

bool Take(absl::string_view* rest, absl::string_view token) {
  TakeBlanks(rest);
  return absl::ConsumePrefix(rest, token);
}

// Removes a quoted value's text and its closing quote from the front.
bool TakeQuoted(absl::string_view* rest, std::string* value) {
  while (!rest->empty()) {
    const char c = rest->front();
    rest->remove_prefix(1);
    if (c == '"') return true;
    if (c != '\\') {
      value->push_back(c);
      continue;
    }
    if (rest->empty()) return false;
    switch (rest->front()) {
      case 'n':
        value->push_back('\n');
        break;
      case '\\':
      case '"':
        value->push_back(rest->front());
        break;
      default:
        return false;
    }
    rest->remove_prefix(1);
  }
  return false;
}

// Removes labels from the front: `{a="b",c="d",}`, the last comma optional; or none.
bool TakeLabels(absl::string_view* rest, Sample* sample) {
  if (!Take(rest, "{")) return true;
  while (!Take(rest, "}")) {
    TakeBlanks(rest);
    const std::string name = TakeName(rest);
    std::string value;
    if (name.empty() || !Take(rest, "=") || !Take(rest, "\"") || !TakeQuoted(rest, &value)) {
      return false;
    }
    if (!sample->labels.emplace(name, std::move(value)).second) return false;
    if (!Take(rest, ",")) return Take(rest, "}");
  }
  return true;
}

// Reads `12`, `1.5e-3`, `+Inf` or `NaN`, optionally followed by a timestamp.
bool ReadNumbers(absl::string_view rest, double* value) {
  const std::vector<absl::string_view> numbers =
      absl::StrSplit(rest, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  int64_t time;
  return (numbers.size() == 1 || (numbers.size() == 2 && absl::SimpleAtoi(numbers[1], &time))) &&
         absl::SimpleAtod(numbers[0], value);
}

}  // namespace

std::string Sample::Label(absl::string_view label) const {
  const auto found = labels.find(label);
  return found == labels.end() ? "" : found->second;
}

absl::Status ReadExposition(absl::string_view text,
                            absl::FunctionRef<void(const Sample& sample)> visit) {
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    absl::ConsumeSuffix(&line, "\r");
    TakeBlanks(&line);
    if (line.empty() || line.front() == '#') continue;
    Sample sample;
    sample.name = TakeName(&line);
    if (sample.name.empty() || !TakeLabels(&line, &sample) || !ReadNumbers(line, &sample.value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, " is not of Prometheus' text format"));
    }
    visit(sample);
  }
  return absl::OkStatus();
}

}  // namespace csi_proxy::ctl::top
