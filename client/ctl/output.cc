#include "client/ctl/output.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "server/base/unicode.h"

namespace csi_proxy::ctl {
namespace {

namespace pb = google::protobuf;
using Field = pb::FieldDescriptor;
using Row = std::vector<std::string>;

// Returns the entries of a repeated message or a map (sorted by key) below a row of field names.
std::vector<Row> Rows(const pb::Message& message, const Field* field) {
  std::vector<Row> rows;
  const pb::Reflection& r = *message.GetReflection();
  const pb::Descriptor& type = *field->message_type();
  const Field* const value = field->is_map() ? type.map_value() : nullptr;
  const bool nested = value != nullptr && value->message_type() != nullptr;
  const pb::Descriptor& columns = nested ? *value->message_type() : type;
  Row head;
  if (nested) head.push_back(field->name());
  for (int i = 0; i < columns.field_count(); ++i) head.push_back(columns.field(i)->name());
  for (int j = 0; j < r.FieldSize(message, field); ++j) {
    const pb::Message& entry = r.GetRepeatedMessage(message, field, j);
    Row row;
    if (nested) row.push_back(ValueText(entry, type.map_key(), -1));
    const pb::Message& inner = nested ? entry.GetReflection()->GetMessage(entry, value) : entry;
    for (int i = 0; i < columns.field_count(); ++i) {
      const Field* const column = columns.field(i);
      if (!column->is_repeated()) {
        row.push_back(ValueText(inner, column, -1));
        continue;
      }
      std::string all;
      for (int k = 0; k < inner.GetReflection()->FieldSize(inner, column); ++k) {
        absl::StrAppend(&all, k > 0 ? ", " : "", ValueText(inner, column, k));
      }
      row.push_back(all);
    }
    rows.push_back(std::move(row));
  }
  if (field->is_map()) SortByKey(&rows);
  rows.insert(rows.begin(), std::move(head));
  return rows;
}

absl::StatusOr<std::string> Json(const pb::Message& message, bool whitespace) {
  pb::util::JsonPrintOptions options;
  options.add_whitespace = whitespace;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = pb::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) {
    return absl::InternalError(
        absl::StrCat("cannot show the response: ", std::string(status.message())));
  }
  return json;
}

}  // namespace

std::string ValueText(const pb::Message& message, const Field* field, int index) {
  const pb::Reflection& r = *message.GetReflection();
  const bool one = index < 0;
  std::string text;
  if (field->cpp_type() == Field::CPPTYPE_STRING) {
    return Printable(one ? r.GetString(message, field)
                         : r.GetRepeatedString(message, field, index));
  }
  if (field->cpp_type() != Field::CPPTYPE_MESSAGE) {
    pb::TextFormat::PrintFieldValueToString(message, field, index, &text);
    return text;
  }
  const pb::Message& inner =
      one ? r.GetMessage(message, field) : r.GetRepeatedMessage(message, field, index);
  for (int i = 0; i < inner.GetDescriptor()->field_count(); ++i) {
    const Field* const f = inner.GetDescriptor()->field(i);
    if (f->is_repeated()) {
      for (int j = 0; j < inner.GetReflection()->FieldSize(inner, f); ++j) {
        absl::StrAppend(&text, text.empty() ? "" : " ", ValueText(inner, f, j));
      }
    } else {
      absl::StrAppend(&text, text.empty() ? "" : " ", f->name(), "=", ValueText(inner, f, -1));
    }
  }
  return text;
}

std::string Printable(absl::string_view text) {
  std::string printable;
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    char32_t c = 0;
    const bool is_utf8 = ConsumeCodePoint(&text, &c);
    if (!is_utf8) text.remove_prefix(1);
    if (is_utf8 && !IsControl(c)) {
      AppendUtf8(c, &printable);
    } else if (!is_utf8 || c < 0x80) {
      absl::StrAppendFormat(&printable, "\\x%02x", byte);
    } else {
      const auto number = static_cast<uint32_t>(c);
      if (c < 0x10000) absl::StrAppendFormat(&printable, "\\u%04x", number);
      if (c >= 0x10000) absl::StrAppendFormat(&printable, "\\U%08x", number);
    }
  }
  return printable;
}

std::string PowerShellCommand(absl::string_view command, const Fields& fields) {
  constexpr std::u32string_view kUnsafe = U"\"%&<>^|";
  std::string line(command);
  for (const auto& [field, value] : fields) {
    absl::StrAppend(&line, " --", field, "='");
    for (absl::string_view rest = value; !rest.empty();) {
      char32_t c;
      if (!ConsumeCodePoint(&rest, &c) || IsControl(c) || kUnsafe.find(c) != kUnsafe.npos) {
        return absl::StrCat(command, " (the ", field,
                            " has characters that are not safe to paste, and is not shown here)");
      }
      // PowerShell reads each of these as a single quote, and two of them in a row as the second
      // (github.com/PowerShell/PowerShell, engine/parser/CharTraits.cs, IsSingleQuote).
      if (c == U'\'' || (c >= 0x2018 && c <= 0x201B)) AppendUtf8(c, &line);
      AppendUtf8(c, &line);
    }
    line += '\'';
  }
  return line;
}

std::string UtcText(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone());
}

std::string SizeText(uint64_t bytes) {
  constexpr std::pair<uint64_t, const char*> kUnits[] = {
      {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}};
  for (const auto& [unit, name] : kUnits) {
    if (bytes < unit) continue;
    const std::string tenths =
        absl::StrFormat("%.1f", static_cast<double>(bytes) / static_cast<double>(unit));
    return absl::StrCat(absl::StripSuffix(tenths, ".0"), " ", name);
  }
  return absl::StrCat(bytes, " bytes");
}

std::string Align(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 < row.size()) text.append(widths[i] - row[i].size() + 2, ' ');
    }
    text += '\n';
  }
  return text;
}

absl::StatusOr<std::string> ToJson(const pb::Message& message) { return Json(message, true); }

absl::StatusOr<std::string> ToJsonLine(const pb::Message& message) {
  absl::StatusOr<std::string> json = Json(message, false);
  if (json.ok()) json->push_back('\n');
  return json;
}

void SortByKey(std::vector<std::vector<std::string>>* rows) {
  // Compares the length first, which sorts decimal numbers by value.
  std::sort(rows->begin(), rows->end(), [](const Row& a, const Row& b) {
    return std::pair(a[0].size(), a) < std::pair(b[0].size(), b);
  });
}

std::string ToTable(const pb::Message& message) {
  std::vector<Row> rows;
  std::string text;
  const pb::Descriptor& type = *message.GetDescriptor();
  const pb::Reflection& r = *message.GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const Field* const field = type.field(i);
    if (field->is_repeated() && r.FieldSize(message, field) == 0) {
      rows.push_back({field->name(), "(none)"});
    } else if (!field->is_repeated()) {
      rows.push_back({field->name(), ValueText(message, field, -1)});
    } else if (field->message_type() != nullptr) {
      text += Align(Rows(message, field));
    } else {
      for (int j = 0; j < r.FieldSize(message, field); ++j) {
        rows.push_back({field->name(), ValueText(message, field, j)});
      }
    }
  }
  if (type.field_count() == 0) return "ok\n";
  return Align(rows) + text;
}

}  // namespace csi_proxy::ctl
