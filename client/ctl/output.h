// Shows a response to programs and to people.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace csi_proxy::ctl {

// Protobuf's own JSON, with the fields' names as in the API and empty ones shown.
absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message);
// The same on one line.
absl::StatusOr<std::string> ToJsonLine(const google::protobuf::Message& message);

// The same values in the same order, as YAML's block style: a string stays a string, also one that
// YAML would take for a number. INVALID_ARGUMENT when the text is not JSON.
absl::StatusOr<std::string> JsonToYaml(absl::string_view json);

// The text as a terminal may show it: control characters, which could move its cursor, as `\x1b`.
// All else, such as backslashes, stays.
std::string Printable(absl::string_view text);

// A time as reports have it: `2026-11-22T18:09:00+00:00`.
std::string UtcText(absl::Time time);

// A size for people: `20 GiB`, `1.5 GiB`, below that `100 MiB`, `512 KiB` and `17 bytes`.
std::string SizeText(uint64_t bytes);

// The text of a field for a table; `index` is -1 for a singular field.
std::string ValueText(const google::protobuf::Message& message,
                      const google::protobuf::FieldDescriptor* field, int index);

// Rows as lines, their columns two blanks apart.
std::string Align(const std::vector<std::vector<std::string>>& rows);

// Orders rows by the number or text of their first column.
void SortByKey(std::vector<std::vector<std::string>>* rows);

// Columns: lists and maps of messages as one row each, the rest as `name  value`. A message
// without fields is `ok`.
std::string ToTable(const google::protobuf::Message& message);

}  // namespace csi_proxy::ctl
