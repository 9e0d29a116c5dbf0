#include <google/protobuf/util/json_util.h>
#include <google/protobuf/wrappers.pb.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/ctl/catalog.h"
#include "client/ctl/output.h"
#include "server/names/unicode.h"

namespace csi_proxy::ctl {
namespace {

// Deeper than any message. Limits recursion, so that no text overflows the stack.
constexpr int kDeepest = 100;

bool IsWordCharacter(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '-'; }

// Returns true if every YAML parser reads the unquoted text as a string: a word that begins with a
// letter and is not a boolean or null in YAML 1.1 or 1.2.
bool IsPlain(absl::string_view text) {
  constexpr std::array<absl::string_view, 9> kReserved = {"true", "false", "null", "yes", "no",
                                                          "on",   "off",   "y",    "n"};
  return !text.empty() && absl::ascii_isalpha(text[0]) &&
         std::all_of(text.begin(), text.end(), &IsWordCharacter) &&
         std::none_of(kReserved.begin(), kReserved.end(),
                      [&](absl::string_view word) { return absl::EqualsIgnoreCase(word, text); });
}

// Returns true for controls, line breaks and non-characters, which single quotes cannot contain.
bool NeedsEscape(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 || c == 0xFEFF ||
         c == 0xFFFE || c == 0xFFFF;
}

std::string DoubleQuoted(const std::u32string& text) {
  std::string quoted = "\"";
  for (const char32_t c : text) {
    if (c == '"' || c == '\\') {
      absl::StrAppend(&quoted, "\\", std::string(1, static_cast<char>(c)));
    } else if (c >= 0x20 && c < 0x7F) {
      quoted.push_back(static_cast<char>(c));
    } else if (c <= 0xFFFF) {
      absl::StrAppendFormat(&quoted, "\\u%04X", static_cast<uint32_t>(c));
    } else {
      absl::StrAppendFormat(&quoted, "\\U%08X", static_cast<uint32_t>(c));
    }
  }
  return quoted + "\"";
}

std::string Scalar(const std::string& text) {
  if (IsPlain(text)) return text;
  std::u32string points;
  absl::string_view rest = text;
  for (char32_t point; ConsumeCodePoint(&rest, &point);) points.push_back(point);
  if (std::any_of(points.begin(), points.end(), &NeedsEscape)) return DoubleQuoted(points);
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "''"}}), "'");
}

// Converts JSON in one pass, up to the first error.
class Converter {
 public:
  explicit Converter(absl::string_view json) : rest_(json) {}

  absl::StatusOr<std::string> Document() {
    Value(0, /*continues_line=*/true);
    if (Next() != '\0') Fail("not JSON");
    if (!status_.ok()) return status_;
    return absl::StrCat(yaml_.substr(1), "\n");  // Without the blank before the first value.
  }

 private:
  void Fail(absl::string_view why) {
    status_.Update(Invalid(why, ", ", rest_.size(), " bytes before the end"));
    rest_ = "";
  }

  // Skips white space and returns the next character without consuming it; 0 at the end.
  char Next() {
    rest_ = absl::StripLeadingAsciiWhitespace(rest_);
    return rest_.empty() ? '\0' : rest_[0];
  }

  bool Take(char c) {
    if (Next() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // `continues_line` is true if the value follows the dash of a list item on its line.
  void Value(size_t indent, bool continues_line) {
    if (indent > 2 * kDeepest) return Fail("JSON of too many levels");
    switch (Next()) {
      case '{':
        return Entries('}', "{}", indent, continues_line);
      case '[':
        return Entries(']', "[]", indent, continues_line);
      case '"':
        return absl::StrAppend(&yaml_, " ", Scalar(String()));
      default:
        return Literal();
    }
  }

  // Converts an object or a list.
  void Entries(char end, absl::string_view empty, size_t indent, bool continues_line) {
    rest_.remove_prefix(1);
    if (Take(end)) return absl::StrAppend(&yaml_, " ", empty);
    do {
      absl::StrAppend(&yaml_, continues_line ? " " : "\n" + std::string(indent, ' '));
      continues_line = false;
      if (end == '}') {
        absl::StrAppend(&yaml_, Scalar(String()), ":");
        if (!Take(':')) return Fail("not JSON");
      } else {
        yaml_.push_back('-');
      }
      Value(indent + 2, /*continues_line=*/end == ']');
    } while (Take(','));
    if (!Take(end)) Fail("not JSON");
  }

  // Removes the string at the front and returns it, decoded by protobuf.
  std::string String() {
    const bool begins = Next() == '"';
    size_t length = 1;
    while (length < rest_.size() && rest_[length] != '"') length += rest_[length] == '\\' ? 2 : 1;
    pb::StringValue value;
    const std::string quoted(rest_.substr(0, length + 1));
    if (!begins || length >= rest_.size() || !pb::util::JsonStringToMessage(quoted, &value).ok()) {
      Fail("not JSON");
      return "";
    }
    rest_.remove_prefix(length + 1);
    return value.value();
  }

  // Converts a number, a boolean or null, which JSON and YAML write alike.
  void Literal() {
    const size_t length =
        std::find_if(rest_.begin(), rest_.end(),
                     [](char c) { return !IsWordCharacter(c) && c != '.' && c != '+'; }) -
        rest_.begin();
    const absl::string_view literal = rest_.substr(0, length);
    double number;
    const bool is_number = absl::SimpleAtod(literal, &number) && std::isfinite(number) &&
                           absl::ascii_isdigit(literal.back());
    if (!is_number && literal != "true" && literal != "false" && literal != "null") {
      return Fail("not JSON");
    }
    absl::StrAppend(&yaml_, " ", literal);
    rest_.remove_prefix(length);
  }

  absl::string_view rest_;
  std::string yaml_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<std::string> JsonToYaml(absl::string_view json) {
  return Converter(json).Document();
}

}  // namespace csi_proxy::ctl
