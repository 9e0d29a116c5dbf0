// Formats responses for programs and for people.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "client/ctl/rpcs.h"

namespace csi_proxy::ctl {

// Returns protobuf's JSON with the API's field names, including empty fields.
absl::StatusOr<std::string> ToJson(const pb::Message& message);
// Returns ToJson() on one line.
absl::StatusOr<std::string> ToJsonLine(const pb::Message& message);

// Converts JSON to YAML's block style, in the order of the JSON. A string stays a string even if
// YAML would read it as a number. INVALID_ARGUMENT if the text is not JSON.
absl::StatusOr<std::string> JsonToYaml(absl::string_view json);

// Replaces each character that is IsControl() (unicode.h), because it could move a terminal's
// cursor or reorder the text, and each byte that is not UTF-8 by escapes such as `\x1b` and
// `\u202e`. Everything else, including backslashes, is unchanged.
std::string Printable(absl::string_view text);

// Returns a command to paste into PowerShell, `COMMAND --FIELD='VALUE' ...`. A pod may have chosen
// the values. Returns a text without values if single quotes do not make a value safe: if it
// contains a character that is IsControl(), a byte that is not UTF-8, a character on which cmd.exe
// acts within single quotes, or a double quote, because Windows PowerShell 5.1 passes that
// unescaped (learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_parsing).
std::string PowerShellCommand(absl::string_view command, const Fields& fields);

// Returns a time in the form of reports: `2026-11-22T18:09:00+00:00`.
std::string UtcText(absl::Time time);

// Returns a size for people: `1.5 GiB`, `100 MiB`, `512 KiB`, `17 bytes`.
std::string SizeText(uint64_t bytes);

// Returns a time for people and reports, truncated because clocks are not more precise.
double Milliseconds(absl::Duration duration);

// Returns `CODE: text` of an error.
std::string StatusText(const absl::Status& status);

// Returns the number of a field's values: one for a singular field.
int CountValues(const pb::Message& message, const pb::FieldDescriptor* field);

// Returns rows as lines, with columns two blanks apart and each text Printable().
std::string Align(std::vector<std::vector<std::string>> rows);

// Returns a message as tables: a row per entry of a list or map of messages, and `name  value` for
// other fields. Returns `ok` for a message without fields.
std::string ToTable(const pb::Message& message);

struct Column {
  const char* head;
  // Returns the text for a row; may contain control characters.
  std::string (*text)(const Answer& row);
};

// A response that lists messages.
struct Listing {
  const char* response;  // The name of the message type.
  const char* list;      // The name of its field.
  // The columns of the short table. Empty: all.
  std::vector<Column> columns;
  // Returns the name by which calls refer to the row's object.
  std::string (*name)(const Answer& row);
};
absl::Span<const Listing> Listings();

// Returns a response as a short table. Returns ToTable() if all columns are shown, or if the
// response's version has other fields.
std::string ToShortTable(const pb::Message& response);

// Returns true if responses of the type list objects with names.
bool HasNames(const pb::Descriptor& response);
// Returns a line for each name in a response: the strings of a list, or the keys of a map.
// REQUIRES: HasNames() of its type.
std::string ToNames(const pb::Message& response);

}  // namespace csi_proxy::ctl
