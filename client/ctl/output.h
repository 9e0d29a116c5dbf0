// Formats responses for programs and for people.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "client/ctl/rpcs.h"

namespace csi_proxy::ctl {

// Returns protobuf's JSON with the API's field names, including empty fields.
absl::StatusOr<std::string> ToJson(const pb::Message& message, bool on_one_line = false);

// Returns the same values as ToJson() in YAML's block style. A string stays a string even if YAML
// would read it as a number.
std::string ToYaml(const pb::Message& message);

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

// Returns a time for people and reports, truncated to whole microseconds.
double Milliseconds(absl::Duration duration);

// Returns `CODE: text` of an error.
std::string StatusText(const absl::Status& status);

// Returns `1 finding`, `2 findings`.
std::string Counted(int64_t count, absl::string_view noun);

using Row = std::vector<std::string>;
// Returns rows as lines, with columns two blanks apart and each text Printable().
std::string Align(std::vector<Row> rows);

// Returns a table's head, and a row for each entry of `list`.
template <typename List, typename RowOf>
std::vector<Row> RowsOf(Row head, const List& list, RowOf row_of) {
  std::vector<Row> rows = {std::move(head)};
  for (const auto& entry : list) rows.push_back(row_of(entry));
  return rows;
}

// Returns a message as tables: a row per entry of a list or map of messages, and `name  value` for
// other fields. Returns `ok` for a message without fields.
std::string ToTable(const pb::Message& message);

struct Column {
  const char* head;
  // The field that is shown, `-` if it is empty.
  const char* field;
  // Returns the text for a row. If null, the text is that of `field`.
  std::string (*text)(const Answer& row) = nullptr;

  // Returns the text for a row; may contain control characters.
  std::string Text(const Answer& row) const;
};

// A response that lists messages.
struct Listing {
  const char* response;  // The name of the message type.
  const char* list;      // The name of its field.
  // The columns of the short table; all columns if empty.
  std::vector<Column> columns;
  // The name by which calls refer to the row's object.
  Column name;
};
absl::Span<const Listing> Listings();

// Returns a response as a short table. Returns ToTable() if all columns are shown, or if the
// response's version has other fields.
std::string ToShortTable(const pb::Message& response);

// Returns true if responses of the type list objects with names.
bool HasNames(const pb::Descriptor& response);
// Returns a line for each name in a response: the `name` of a Listing, the strings of a list, or
// the keys of a map. REQUIRES: HasNames() of its type.
std::string ToNames(const pb::Message& response);

}  // namespace csi_proxy::ctl
