// Formats responses for programs and for people.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace csi_proxy::ctl {

// Returns protobuf's JSON with the API's field names, including empty fields.
absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message);
// Returns ToJson() on one line.
absl::StatusOr<std::string> ToJsonLine(const google::protobuf::Message& message);

// Converts JSON to YAML's block style, in the order of the JSON. A string stays a string even if
// YAML would read it as a number. INVALID_ARGUMENT if the text is not JSON.
absl::StatusOr<std::string> JsonToYaml(absl::string_view json);

// Replaces control characters, which could move a terminal's cursor, by escapes such as `\x1b`.
// Everything else, including backslashes, is unchanged.
std::string Printable(absl::string_view text);

// Returns a time in the form of reports: `2026-11-22T18:09:00+00:00`.
std::string UtcText(absl::Time time);

// Returns a size for people: `1.5 GiB`, `100 MiB`, `512 KiB`, `17 bytes`.
std::string SizeText(uint64_t bytes);

// Returns a field's text for a table. `index` must be -1 for a singular field, else an element's.
std::string ValueText(const google::protobuf::Message& message,
                      const google::protobuf::FieldDescriptor* field, int index);

// Returns rows as lines, with columns two blanks apart.
std::string Align(const std::vector<std::vector<std::string>>& rows);

// Sorts rows by the number or text in the first column.
void SortByKey(std::vector<std::vector<std::string>>* rows);

// Returns a message as tables: a row per entry of a list or map of messages, and `name  value` for
// other fields. Returns `ok` for a message without fields.
std::string ToTable(const google::protobuf::Message& message);

}  // namespace csi_proxy::ctl
