#include <google/protobuf/message.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/ctl/catalog.h"
#include "client/ctl/output.h"
#include "server/names/unicode.h"

namespace csi_proxy::ctl {
namespace {

using Field = pb::FieldDescriptor;

// Returns true if every YAML parser reads the unquoted text as a string: a word that begins with a
// letter and is not a boolean or null in YAML 1.1 or 1.2.
bool IsPlain(absl::string_view text) {
  constexpr absl::string_view kReserved[] = {"true", "false", "null", "yes", "no",
                                             "on",   "off",   "y",    "n"};
  const auto is_same = [text](absl::string_view w) { return absl::EqualsIgnoreCase(w, text); };
  const auto in_word = [](char c) { return absl::ascii_isalnum(c) || c == '_' || c == '-'; };
  return !text.empty() && absl::ascii_isalpha(text[0]) && absl::c_all_of(text, in_word) &&
         absl::c_none_of(kReserved, is_same);
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

// Returns a string as YAML writes it.
std::string Quoted(const std::string& text) {
  if (IsPlain(text)) return text;
  std::u32string points;
  absl::string_view rest = text;
  for (char32_t point; ConsumeCodePoint(&rest, &point);) points.push_back(point);
  if (absl::c_any_of(points, &NeedsEscape)) return DoubleQuoted(points);
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "''"}}), "'");
}

class Writer {
 public:
  // Writes a message. The first field begins on the current line if `continues_line` is true.
  void Fields(const pb::Message& message, size_t indent, bool continues_line) {
    const size_t before = yaml_.size();
    std::vector<const Field*> fields = FieldsOf(*message.GetDescriptor());
    // Orders the fields as protobuf's JSON does.
    std::stable_partition(fields.begin(), fields.end(),
                          [](auto* field) { return !field->has_optional_keyword(); });
    for (const Field* const field : fields) {
      if (field->has_presence() && !message.GetReflection()->HasField(message, field)) continue;
      Begin(std::exchange(continues_line, false), indent, Quoted(field->name()) + ":");
      const bool is_list = field->is_repeated();
      const int count = CountValues(message, field);
      if (count == 0) absl::StrAppend(&yaml_, field->is_map() ? " {}" : " []");
      for (int i = 0; i < count; ++i) {
        if (!field->is_map()) {
          if (is_list) Begin(false, indent + 2, "-");
          Value(message, field, i, indent + (is_list ? 4 : 2), is_list);
          continue;
        }
        const pb::Message& entry = InnerMessage(message, field, i);
        const pb::Descriptor& type = *field->message_type();
        Begin(false, indent + 2, Quoted(ScalarText(entry, type.map_key())) + ":");
        Value(entry, type.map_value(), 0, indent + 4, false);
      }
    }
    if (yaml_.size() == before) absl::StrAppend(&yaml_, " {}");
  }

  std::string Document() const { return yaml_.substr(1) + "\n"; }  // Without the first blank.

 private:
  void Begin(bool continues_line, size_t indent, absl::string_view head) {
    absl::StrAppend(&yaml_, continues_line ? " " : "\n" + std::string(indent, ' '), head);
  }

  void Value(const pb::Message& message, const Field* field, int index, size_t indent,
             bool continues_line) {
    if (field->message_type() != nullptr) {
      return Fields(InnerMessage(message, field, index), indent, continues_line);
    }
    const std::string text = ScalarText(message, field, index);
    // As in JSON, numbers of 64 bits are strings, and an unknown value of an enum is a number.
    const bool is_text =
        field->type() == Field::TYPE_STRING || field->cpp_type() == Field::CPPTYPE_INT64 ||
        field->cpp_type() == Field::CPPTYPE_UINT64 ||
        (field->enum_type() != nullptr && field->enum_type()->FindValueByName(text) != nullptr);
    const bool is_bytes = field->type() == Field::TYPE_BYTES;
    absl::StrAppend(&yaml_, " ",
                    is_bytes  ? Quoted(absl::Base64Escape(text))
                    : is_text ? Quoted(text)
                              : text);
  }

  std::string yaml_;
};

}  // namespace

std::string ToYaml(const pb::Message& message) {
  Writer writer;
  writer.Fields(message, 0, /*continues_line=*/true);
  return writer.Document();
}

}  // namespace csi_proxy::ctl
