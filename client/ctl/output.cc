#include "client/ctl/output.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace csi_proxy::ctl {
namespace {

namespace pb = google::protobuf;
using Field = pb::FieldDescriptor;
using Row = std::vector<std::string>;

// Text of foreign origin must not move the cursor.
std::string Printable(const std::string& text) { return absl::Utf8SafeCHexEscape(text); }

// `index` is -1 for a singular field.
std::string Value(const pb::Message& message, const Field* field, int index) {
  const pb::Reflection& r = *message.GetReflection();
  const bool one = index < 0;
  switch (field->cpp_type()) {
    case Field::CPPTYPE_BOOL:
      return (one ? r.GetBool(message, field) : r.GetRepeatedBool(message, field, index)) ? "true"
                                                                                          : "false";
    case Field::CPPTYPE_UINT32:
      return absl::StrCat(one ? r.GetUInt32(message, field)
                              : r.GetRepeatedUInt32(message, field, index));
    case Field::CPPTYPE_UINT64:
      return absl::StrCat(one ? r.GetUInt64(message, field)
                              : r.GetRepeatedUInt64(message, field, index));
    case Field::CPPTYPE_INT32:
      return absl::StrCat(one ? r.GetInt32(message, field)
                              : r.GetRepeatedInt32(message, field, index));
    case Field::CPPTYPE_INT64:
      return absl::StrCat(one ? r.GetInt64(message, field)
                              : r.GetRepeatedInt64(message, field, index));
    case Field::CPPTYPE_ENUM:
      return (one ? r.GetEnum(message, field) : r.GetRepeatedEnum(message, field, index))->name();
    case Field::CPPTYPE_STRING:
      return Printable(one ? r.GetString(message, field)
                           : r.GetRepeatedString(message, field, index));
    case Field::CPPTYPE_MESSAGE: {
      const pb::Message& inner =
          one ? r.GetMessage(message, field) : r.GetRepeatedMessage(message, field, index);
      std::string text;
      for (int i = 0; i < inner.GetDescriptor()->field_count(); ++i) {
        const Field* const f = inner.GetDescriptor()->field(i);
        if (f->is_repeated()) {
          for (int j = 0; j < inner.GetReflection()->FieldSize(inner, f); ++j) {
            absl::StrAppend(&text, text.empty() ? "" : " ", Value(inner, f, j));
          }
        } else {
          absl::StrAppend(&text, text.empty() ? "" : " ", f->name(), "=", Value(inner, f, -1));
        }
      }
      return text;
    }
    default:
      return "?";
  }
}

std::string Align(const std::vector<Row>& rows) {
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

// The rows of a repeated message or a map, with a head of the fields' names. A map's entries come
// by key, numbers as numbers.
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
    if (nested) row.push_back(Value(entry, type.map_key(), -1));
    const pb::Message& inner = nested ? entry.GetReflection()->GetMessage(entry, value) : entry;
    for (int i = 0; i < columns.field_count(); ++i) {
      const Field* const column = columns.field(i);
      if (!column->is_repeated()) {
        row.push_back(Value(inner, column, -1));
        continue;
      }
      std::string all;
      for (int k = 0; k < inner.GetReflection()->FieldSize(inner, column); ++k) {
        absl::StrAppend(&all, k > 0 ? ", " : "", Value(inner, column, k));
      }
      row.push_back(all);
    }
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::pair(a[0].size(), a) < std::pair(b[0].size(), b);
  });
  rows.insert(rows.begin(), std::move(head));
  return rows;
}

}  // namespace

absl::StatusOr<std::string> ToJson(const pb::Message& message) {
  pb::util::JsonPrintOptions options;
  options.add_whitespace = true;
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

std::string ToTable(const pb::Message& message) {
  std::vector<Row> rows;
  std::string text;
  const pb::Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const Field* const field = type.field(i);
    if (!field->is_repeated()) {
      rows.push_back({field->name(), Value(message, field, -1)});
    } else if (field->message_type() != nullptr) {
      text += Align(Rows(message, field));
    } else {
      for (int j = 0; j < message.GetReflection()->FieldSize(message, field); ++j) {
        rows.push_back({field->name(), Value(message, field, j)});
      }
      if (message.GetReflection()->FieldSize(message, field) == 0) {
        rows.push_back({field->name(), "(none)"});
      }
    }
  }
  if (type.field_count() == 0) return "ok\n";
  return Align(rows) + text;
}

}  // namespace csi_proxy::ctl
