#include "client/ctl/output.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "server/http/host_port.h"
#include "server/names/unicode.h"

namespace csi_proxy::ctl {
namespace {

using Field = pb::FieldDescriptor;

// Returns the text of one of the field's values for a table.
std::string ValueText(const pb::Message& message, const Field* field, int index) {
  if (field->message_type() == nullptr) return ScalarText(message, field, index);
  const pb::Message& inner = InnerMessage(message, field, index);
  std::string text;
  for (const Field* const f : FieldsOf(*inner.GetDescriptor())) {
    for (int i = 0; i < CountValues(inner, f); ++i) {
      absl::StrAppend(&text, text.empty() ? "" : " ", f->is_repeated() ? "" : f->name() + "=",
                      ValueText(inner, f, i));
    }
  }
  return text;
}

// Sorts rows by the number or text in the first column.
void SortByKey(std::vector<Row>* rows) {
  // Compares the length first, which sorts decimal numbers by value.
  std::sort(rows->begin(), rows->end(), [](const Row& a, const Row& b) {
    return std::pair(a[0].size(), a) < std::pair(b[0].size(), b);
  });
}

// Returns the entries of a repeated message or a map (sorted by key) below a row of field names.
std::vector<Row> Rows(const pb::Message& message, const Field* field) {
  const pb::Descriptor& type = *field->message_type();
  // The value of a map's entry, if that is a message.
  const Field* const value =
      field->is_map() && type.map_value()->message_type() != nullptr ? type.map_value() : nullptr;
  const auto columns = FieldsOf(value != nullptr ? *value->message_type() : type);
  std::vector<Row> rows;
  for (int i = 0; i < CountValues(message, field); ++i) {
    const pb::Message& entry = InnerMessage(message, field, i);
    const pb::Message& inner = value != nullptr ? InnerMessage(entry, value) : entry;
    Row& row = rows.emplace_back();
    if (value != nullptr) row.push_back(ScalarText(entry, type.map_key()));
    for (const Field* const column : columns) {
      std::string& all = row.emplace_back();
      for (int k = 0; k < CountValues(inner, column); ++k) {
        absl::StrAppend(&all, k > 0 ? ", " : "", ValueText(inner, column, k));
      }
    }
  }
  if (field->is_map()) SortByKey(&rows);
  Row& head = *rows.emplace(rows.begin());
  if (value != nullptr) head.push_back(field->name());
  for (const Field* const column : columns) head.push_back(column->name());
  return rows;
}

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }

std::string DiskSize(const Answer& disk) { return SizeText(disk.Number("size_bytes")); }

// Returns what identifies a disk across nodes. Clouds put their volume's id in one of the fields.
std::string DiskIdentity(const Answer& disk) {
  const std::string serial_number = disk.Text("serial_number");
  return OrDash(serial_number.empty() ? disk.Text("page83") : serial_number);
}

std::string DiskUse(const Answer& disk) {
  if (disk.Flag("is_boot")) return "Windows";
  return disk.Flag("is_system") ? "boot loader" : "-";
}

std::string DiskState(const Answer& disk) {
  const bool is_online = disk.Flag("is_online");
  const std::string reason = is_online ? "" : disk.Text("offline_reason");
  return absl::StrCat(is_online ? "online" : "offline",
                      reason.empty() ? "" : absl::StrCat(" (", reason, ")"),
                      disk.Flag("is_read_only") ? ", read-only" : "");
}

std::string MountState(const Answer& mount) { return absl::AsciiStrToLower(mount.Text("state")); }

std::string MountKind(const Answer& mount) {
  const std::string kind = mount.Text("kind");
  return kind == "MOUNTED_VOLUME" ? "volume" : absl::AsciiStrToLower(kind);
}

std::string LinkCount(const Answer& mapping) { return absl::StrCat(mapping.Size("links")); }

std::string PortalName(const Answer& portal) {
  return ToString(
      HostPort{portal.Text("target_address"), static_cast<int>(portal.Number("target_port"))});
}

const Listing* Find(const pb::Descriptor& response) {
  for (const Listing& listing : Listings()) {
    const bool has_list = response.FindFieldByName(listing.list) != nullptr;
    if (response.name() == listing.response && has_list) return &listing;
  }
  return nullptr;
}

// Returns the only field of a response if that is a list of strings or a map, otherwise null.
const Field* WholeList(const pb::Descriptor& response) {
  if (response.field_count() != 1) return nullptr;
  const Field* const field = response.field(0);
  const bool has_texts = field->is_repeated() && field->cpp_type() == Field::CPPTYPE_STRING;
  return has_texts || field->is_map() ? field : nullptr;
}

// Wraps a message. The answer must not outlive `message`.
Answer Borrow(const pb::Message& message, std::string* missing) {
  return Answer(std::shared_ptr<const pb::Message>(std::shared_ptr<void>(), &message), missing);
}

}  // namespace

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
      // Doubles a quote: PowerShell ends the text at each of these characters, unless two follow
      // each other (github.com/PowerShell/PowerShell, engine/parser/CharTraits.cs, IsSingleQuote).
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

double Milliseconds(absl::Duration duration) {
  return absl::ToDoubleMilliseconds(absl::Trunc(duration, absl::Microseconds(1)));
}

std::string StatusText(const absl::Status& status) {
  return absl::StrCat(absl::StatusCodeToString(status.code()), status.message().empty() ? "" : ": ",
                      status.message());
}

std::string Counted(int64_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

std::string Align(std::vector<Row> rows) {
  std::vector<size_t> widths;
  for (Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = Printable(row[i]);
      widths[i] = std::max(widths[i], row[i].size());
    }
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

absl::StatusOr<std::string> ToJson(const pb::Message& message, bool on_one_line) {
  pb::util::JsonPrintOptions options;
  options.add_whitespace = !on_one_line;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = pb::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) {
    return absl::InternalError(
        absl::StrCat("cannot show the response: ", std::string(status.message())));
  }
  return on_one_line ? json + "\n" : json;
}

std::string ToTable(const pb::Message& message) {
  std::vector<Row> rows;
  std::string text;
  const pb::Descriptor& type = *message.GetDescriptor();
  for (const Field* const field : FieldsOf(type)) {
    const int count = CountValues(message, field);
    if (count == 0) rows.push_back({field->name(), "(none)"});
    if (count > 0 && field->is_repeated() && field->message_type() != nullptr) {
      text += Align(Rows(message, field));
      continue;
    }
    for (int i = 0; i < count; ++i) rows.push_back({field->name(), ValueText(message, field, i)});
  }
  if (type.field_count() == 0) return "ok\n";
  return Align(rows) + text;
}

std::string Column::Text(const Answer& row) const {
  return text != nullptr ? text(row) : OrDash(row.Text(field));
}

// Columns with long texts are last, so that the other columns stay on the screen.
absl::Span<const Listing> Listings() {
  static const std::vector<Listing>* const kListings = new std::vector<Listing>{
      {.response = "ListDisksResponse",
       .list = "disks",
       .columns = {{"DISK", "number"},
                   {"BUS", "bus_type"},
                   {"SIZE", "", &DiskSize},
                   {"STYLE", "partition_style"},
                   {"USE", "", &DiskUse},
                   {"STATE", "", &DiskState},
                   {"SERIAL OR PAGE 83", "", &DiskIdentity}},
       .name = {"", "number"}},
      {.response = "ListMountsResponse",
       .list = "mounts",
       .columns = {{"STATE", "", &MountState},
                   {"KIND", "", &MountKind},
                   {"PATH", "path"},
                   {"TARGET", "target"}},
       .name = {"", "path"}},
      {.response = "ListSmbMappingsResponse",
       .list = "mappings",
       .columns = {{"STATUS", "status"}, {"LINKS", "", &LinkCount}, {"SHARE", "remote_path"}},
       .name = {"", "remote_path"}},
      {.response = "ListTargetPortalsResponse",
       .list = "target_portals",
       .columns = {},
       .name = {"", "", &PortalName}},
  };
  return *kListings;
}

std::string ToShortTable(const pb::Message& response) {
  const Listing* const listing = Find(*response.GetDescriptor());
  if (listing == nullptr || listing->columns.empty()) return ToTable(response);
  std::string missing;
  const Answer answer = Borrow(response, &missing);
  std::vector<Row> rows(1);
  for (const Column& column : listing->columns) rows[0].push_back(column.head);
  for (const Answer& entry : answer.Each(listing->list)) {
    Row& row = rows.emplace_back();
    for (const Column& column : listing->columns) row.push_back(column.Text(entry));
  }
  if (!missing.empty()) return ToTable(response);
  std::string text = rows.size() == 1 ? absl::StrCat(listing->list, "  (none)\n") : Align(rows);
  const bool can_be_cut = response.GetDescriptor()->FindFieldByName("incomplete") != nullptr;
  if (can_be_cut && answer.Flag("incomplete")) {
    absl::StrAppend(&text, "incomplete: the service did not check all directories\n");
  }
  return text;
}

bool HasNames(const pb::Descriptor& response) {
  return Find(response) != nullptr || WholeList(response) != nullptr;
}

std::string ToNames(const pb::Message& response) {
  std::vector<Row> names;
  const pb::Descriptor& type = *response.GetDescriptor();
  if (const Listing* const listing = Find(type)) {
    std::string missing;
    const Answer answer = Borrow(response, &missing);
    for (const Answer& row : answer.Each(listing->list)) names.push_back({listing->name.Text(row)});
  } else if (const Field* const field = WholeList(type)) {
    for (int i = 0; i < CountValues(response, field); ++i) {
      names.push_back({field->is_map() ? ScalarText(InnerMessage(response, field, i),
                                                    field->message_type()->map_key())
                                       : ScalarText(response, field, i)});
    }
    if (field->is_map()) SortByKey(&names);
  }
  return Align(names);
}

}  // namespace csi_proxy::ctl
