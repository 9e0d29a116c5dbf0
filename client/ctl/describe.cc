// Explains groups and methods by the comments in the API files.
#include <algorithm>
#include <ostream>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/ctl/commands.h"
#include "client/ctl/output.h"
#include "server/base/status_macros.h"

namespace csi_proxy::ctl {
namespace {

// Returns the type of a field: `uint32`, `AuthType: NONE|CHAP`, `list of string`, `map from ...`.
std::string TypeText(const pb::FieldDescriptor& field) {
  if (field.is_map()) {
    return absl::StrCat("map from ", TypeText(*field.message_type()->map_key()), " to ",
                        TypeText(*field.message_type()->map_value()));
  }
  std::string text = field.type_name();
  if (field.message_type() != nullptr) text = field.message_type()->name();
  if (const pb::EnumDescriptor* const type = field.enum_type()) {
    text = absl::StrCat(type->name(), ": ", absl::StrJoin(ValueNames(*type), "|"));
  }
  return field.is_repeated() ? absl::StrCat("list of ", text) : text;
}

// Returns the message type of a field, or of a map's values; null if it has none.
const pb::Descriptor* Inside(const pb::FieldDescriptor& field) {
  if (field.is_map()) return field.message_type()->map_value()->message_type();
  return field.message_type();
}

void DescribeFields(const pb::Descriptor& type, int indent, std::ostream& out) {
  for (const pb::FieldDescriptor* const field : FieldsOf(type)) {
    const std::string comment = Comment(*field);
    out << std::string(indent, ' ') << field->name() << " (" << TypeText(*field) << ")"
        << (comment.empty() ? "" : "  ") << comment << "\n";
    if (const pb::Descriptor* const inside = Inside(*field)) {
      DescribeFields(*inside, indent + 2, out);
    }
  }
}

void DescribeMethod(const Method& method, std::ostream& out) {
  const pb::MethodDescriptor& rpc = *method.descriptor;
  const std::string version = method.version.empty() ? "" : method.version + " ";
  out << method.group << " " << version << rpc.name() << "\n";
  if (const std::string text = Comment(rpc); !text.empty()) out << "  " << text << "\n";
  for (const pb::Descriptor* const type : {rpc.input_type(), rpc.output_type()}) {
    out << (type == rpc.input_type() ? "  takes" : "  returns")
        << (type->field_count() == 0 ? " nothing\n" : "\n");
    DescribeFields(*type, 4, out);
  }
  out << "  csi-proxyctl " << method.group << " " << KebabCase(rpc.name())
      << (method.version.empty() ? "" : " --api=" + method.version);
  for (const std::string& flag : FieldFlags(*rpc.input_type())) out << " " << flag;
  out << "\n\n";
}

// The width of the left column. A longer name gets a line of its own.
constexpr size_t kLeft = 30;
constexpr size_t kWidth = 100;

// Wraps text to kWidth columns, each line indented by `indent`.
std::string Wrap(absl::string_view text, size_t indent) {
  std::string wrapped, line;
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (!line.empty() && indent + line.size() + 1 + word.size() > kWidth) {
      absl::StrAppend(&wrapped, std::string(indent, ' '), line, "\n");
      line.clear();
    }
    absl::StrAppend(&line, line.empty() ? "" : " ", word);
  }
  if (!line.empty()) absl::StrAppend(&wrapped, std::string(indent, ' '), line, "\n");
  return wrapped;
}

// Returns a name in the left column, with its text in the right column or on the lines below.
std::string Entry(size_t indent, const std::string& name, const std::string& text) {
  const std::string left = std::string(indent, ' ') + name;
  if (text.empty()) return left + "\n";
  std::string right = Wrap(text, kLeft);
  if (left.size() + 2 > kLeft) return absl::StrCat(left, "\n", right);
  return right.replace(0, left.size(), left);
}

// Returns the values of an enum that have comments.
std::string EnumEntries(const pb::FieldDescriptor& field, size_t indent) {
  std::string text;
  const pb::EnumDescriptor* const type = field.enum_type();
  for (int i = 0; type != nullptr && i < type->value_count(); ++i) {
    const std::string comment = Comment(*type->value(i));
    if (!comment.empty()) absl::StrAppend(&text, Entry(indent, type->value(i)->name(), comment));
  }
  return text;
}

std::string RequestHelp(const Catalog& catalog, const Method& method) {
  std::string text;
  const pb::Descriptor& type = *method.descriptor->input_type();
  for (const FieldFlag& flag : FieldsAsFlags(type)) {
    std::string comment = Comment(*flag.field);
    if (catalog.IsSecret(method.group, *flag.field)) {
      const std::string name = flag.flag.substr(0, flag.flag.find('='));
      absl::StrAppend(&comment, comment.empty() ? "" : " ", name,
                      "-file=PATH reads it from a file, ", name, "=- from standard input.");
    }
    absl::StrAppend(&text, Entry(2, flag.flag, comment), EnumEntries(*flag.field, 4));
  }
  for (const pb::FieldDescriptor* const field : FieldsOf(type)) {
    if (!field->is_repeated() || field->message_type() == nullptr) continue;  // A flag sets it.
    absl::StrAppend(&text,
                    Entry(2, absl::StrCat("--json, ", field->name(), " (", TypeText(*field), ")"),
                          Comment(*field)));
  }
  return text;
}

std::string ResponseHelp(const pb::Descriptor& type, size_t indent) {
  std::string text;
  for (const pb::FieldDescriptor* const field : FieldsOf(type)) {
    const std::string values = EnumEntries(*field, indent + 2);
    // The values are listed below, so the type is shown without them.
    std::string kind = TypeText(*field);
    if (!values.empty()) kind.resize(kind.find(':'));
    absl::StrAppend(&text,
                    Entry(indent, absl::StrCat(field->name(), " (", kind, ")"), Comment(*field)),
                    values);
    if (const pb::Descriptor* const inside = Inside(*field)) {
      absl::StrAppend(&text, ResponseHelp(*inside, indent + 2));
    }
  }
  return text;
}

// Returns the position of the first status code in a text, or npos.
size_t FindCode(absl::string_view text) {
  size_t first = absl::string_view::npos;
  for (int code = 1; code <= static_cast<int>(absl::StatusCode::kUnauthenticated); ++code) {
    const std::string name = absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
    first = std::min(first, text.find(name));
  }
  return first;
}

// Returns the parts of a comment that name a status code: sentences, or clauses after a semicolon.
std::vector<std::string> Errors(const std::string& comment) {
  std::vector<std::string> errors;
  absl::string_view rest = comment;
  while (!rest.empty()) {
    size_t end = 0;
    for (; end < rest.size(); ++end) {
      const absl::string_view after = rest.substr(std::min(end + 2, rest.size()));
      const bool stops = absl::StartsWith(rest.substr(end), ". ") && !after.empty() &&
                         !absl::ascii_islower(after[0]);
      const bool next_code = absl::StartsWith(rest.substr(end), "; ") && FindCode(after) == 0;
      if (stops || next_code) break;
    }
    const absl::string_view part = rest.substr(0, end);
    if (FindCode(part) != absl::string_view::npos)
      errors.emplace_back(absl::StripSuffix(part, "."));
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  return errors;
}

// Returns the errors named in the comments on a method, its request and its group. If the version's
// comment on the method names no error, the hub's comment is read.
std::vector<std::string> ErrorsOf(const Catalog& catalog, const Method& method) {
  std::vector<std::string> errors;
  const auto add = [&errors](const std::string& comment, absl::string_view flag = "") {
    for (const std::string& error : Errors(comment)) errors.push_back(absl::StrCat(flag, error));
  };
  add(Comment(*method.descriptor));
  const pb::MethodDescriptor* const hub = catalog.Hub(method);
  if (errors.empty() && hub != nullptr) add(Comment(*hub));
  for (const pb::FieldDescriptor* const field : FieldsOf(*method.descriptor->input_type())) {
    add(Comment(*field), absl::StrCat("--", KebabCase(field->name()), ": "));
  }
  if (hub != nullptr) add(FileComment(*hub->file()));
  errors.push_back(
      "as of every call, INVALID_ARGUMENT when a field is wrong, UNAVAILABLE when no service "
      "answers, DEADLINE_EXCEEDED after --timeout, and RESOURCE_EXHAUSTED when the service is "
      "busy");
  return errors;
}

// Returns the first sentence of a comment, cut to `width`.
std::string Brief(const std::string& comment, size_t width) {
  std::string brief = comment.substr(0, comment.find(". "));
  if (brief.size() <= width) return std::string(absl::StripSuffix(brief, "."));
  return absl::StrCat(brief.substr(0, brief.rfind(' ', width - 4)), " ...");
}

// Returns the versions that have a method of that name, preferred first.
std::vector<std::string> VersionsWith(const Catalog& catalog, const Method& method) {
  std::vector<std::string> versions = catalog.Versions(method.group);
  std::erase_if(versions, [&](const std::string& version) {
    return !catalog.Find(method.group, method.descriptor->name(), version).ok();
  });
  return versions;
}

std::string MethodHelp(const Catalog& catalog, const Method& method) {
  const std::string command = absl::StrCat(method.group, " ", KebabCase(method.descriptor->name()));
  std::string text = absl::StrCat(command, " - ", method.path(), "\n\n");
  if (const std::string comment = Comment(*method.descriptor); !comment.empty()) {
    absl::StrAppend(&text, Wrap(comment, 0), "\n");
  }
  const std::string request = RequestHelp(catalog, method);
  absl::StrAppend(&text, "Fields of the request:", request.empty() ? " none\n" : "\n", request);
  absl::StrAppend(&text, "\nExample:\n  ", ExampleOf(catalog, method), "\n");
  const std::string response = ResponseHelp(*method.descriptor->output_type(), 2);
  absl::StrAppend(&text, "\nFields of the response:", response.empty() ? " none\n" : "\n",
                  response);
  absl::StrAppend(&text, "\nErrors:\n");
  for (const std::string& error : ErrorsOf(catalog, method)) {
    absl::StrAppend(&text, "  ", Wrap(error, 4).substr(4));
  }
  if (!method.version.empty()) {
    absl::StrAppend(&text, "\nVersions that have it, for --api: ",
                    absl::StrJoin(VersionsWith(catalog, method), ", "));
  }
  return absl::StrCat(text, "\nFlags of every call: csi-proxyctl --help\n");
}

// Lists all methods of the first version, then those that each later generation adds.
std::string GroupHelp(const Catalog& catalog, const std::string& group,
                      const std::vector<std::string>& versions) {
  const bool has_choice = versions.size() > 1;
  std::vector<std::pair<std::string, Method>> methods;
  size_t longest = 0;
  for (const std::string& version : versions) {
    if (has_choice && !catalog.Successor(group, version).empty()) continue;
    for (const Method& method : catalog.Methods(group, version)) {
      std::string name = KebabCase(method.descriptor->name());
      if (absl::c_any_of(methods, [&](const auto& known) { return known.first == name; })) continue;
      longest = std::max(longest, name.size());
      methods.emplace_back(std::move(name), method);
    }
  }
  const pb::ServiceDescriptor& service = *methods.front().second.descriptor->service();
  const std::string comment = Comment(service);
  std::vector<Row> rows;
  for (const auto& [name, method] : methods) {
    const std::string note =
        method.version == versions.front() ? "" : absl::StrCat(" (", method.version, ")");
    const size_t width = kWidth - longest - 4 - note.size();
    rows.push_back({"", name});
    const std::string brief = absl::StrCat(Brief(Comment(*method.descriptor), width), note);
    if (!brief.empty()) rows.back().push_back(brief);
  }
  std::string text = absl::StrCat(
      Wrap(absl::StrCat(group, versions.front().empty() ? "" : " ", versions.front(), " - ",
                        comment.empty() ? FileComment(*service.file()) : comment),
           0),
      "\n", Align(rows), "\n");
  if (has_choice) {
    absl::StrAppend(&text, "Versions, for --api: ", absl::StrJoin(versions, ", "), "\n");
  }
  return absl::StrCat(text, "Help on one: csi-proxyctl help ", group, " METHOD\n");
}

// The value that each of `flags` has in the examples of `methods`, or of all methods if `methods`
// is empty. Blanks separate the names. A null `value` stands for a boolean flag without a value.
// Examples leave out flags without a row.
struct Value {
  absl::string_view methods, flags;
  const char* value;
};

// Rows for some methods precede rows for all. Examples read secrets from standard input.
constexpr Value kValues[] = {
    {"AttachDisk", "choose-number", nullptr},
    {"AttachDisk", "disk.size-bytes", "10737418240"},
    {"CreateSymlink LinkPath", "target-path", R"(C:\var\lib\kubelet\pods\example)"},
    {"GrowDisk", "size-bytes", "21474836480"},
    {"InjectFault", "fault.operation", "volume.MountVolume"},
    {"InjectFault", "fault.code", "INTERNAL"},
    {"InjectFault", "fault.times", "1"},
    {"MakeLink", "target", R"(C:\var\lib\kubelet\plugins\example)"},
    {"RemoveMount", "target", R"(C:\var\lib\kubelet\plugins\gone)"},
    {"ResizeVolume", "size-bytes size", "0"},
    {"SetDiskReadOnly", "read-only", nullptr},
    {"SetDiskState SetAttachState", "is-online", nullptr},
    {"SetServerReachable", "reachable", "false"},
    {"SetServerReachable", "server", "fileserver.example"},
    {"StageTarget", "lun-id", "0"},
    {"StageTarget", "portals", "10.0.0.5"},
    {"StageVolume", "disk.number", "1"},
    {"WriteFile", "path", R"(C:\var\lib\kubelet\plugins\example\file)"},
    {"WriteFile", "size-bytes", "1024"},
    {"AddShare", "share", "archive"},
    {"ListVolumeHealth", "volume-ids", R"(\\?\Volume{b20fed54-efe4-eecf-91b0-8bf688463d11}\)"},
    {"", "disk-id disk-number", "1"},
    {"", "disk-name", "60022480a1b2c3d4e5f60718293a4b5c"},
    {"", "iqn", "iqn.2026-01.example.storage:open"},
    {"", "mount path source-path target-path", R"(C:\var\lib\kubelet\plugins\example)"},
    {"", "mutual-chap-secret password", "-"},
    {"", "name", "MSiSCSI"},
    {"", "remote-path share", R"(\\fileserver.example\data)"},
    {"", "server", "fileserver.example"},
    {"", "target-portal.target-address", "10.0.0.5"},
    {"", "user username", R"(EXAMPLE\storage)"},
    {"", "volume-id", R"(\\?\Volume{b20fed54-efe4-eecf-91b0-8bf688463d11}\)"},
};

bool HasWord(absl::string_view words, absl::string_view word) {
  return absl::c_linear_search(absl::StrSplit(words, ' '), word);
}

std::string Quoted(absl::string_view value) {
  const bool is_plain = absl::c_all_of(
      value, [](char c) { return absl::ascii_isalnum(c) || absl::StrContains("-_./:", c); });
  return is_plain ? std::string(value) : absl::StrCat("'", value, "'");
}

}  // namespace

absl::StatusOr<int> Help(const Catalog& catalog, const CommandLine& line, const Streams& streams) {
  std::vector<std::string> words = line.words;
  if (!words.empty() && words[0] == "help") words.erase(words.begin());
  const auto is_meant = [&](const Command& command) { return words[0] == command.name; };
  if (words.empty() || absl::c_any_of(OwnCommands(), is_meant)) {
    streams.out << HelpText();
    return kOk;
  }
  // The word is not quoted, because it may be a secret.
  if (words.size() > 2) return Invalid("usage: csi-proxyctl help [GROUP [METHOD]]");
  if (words.size() == 2) {
    ABSL_ASSIGN_OR_RETURN(const Method method, catalog.Find(words[0], words[1], line.api));
    streams.out << MethodHelp(catalog, method);
    return kOk;
  }
  ABSL_ASSIGN_OR_RETURN(const auto versions, catalog.VersionsFor(words[0], line.api));
  streams.out << GroupHelp(catalog, Plain(words[0]), versions);
  return kOk;
}

absl::StatusOr<int> List(const Catalog& catalog, const CommandLine&, const Streams& streams) {
  std::vector<std::string> groups = catalog.Groups();
  groups.push_back(kSimulatedGroup);
  for (const std::string& group : groups) {
    for (const std::string& version : catalog.Versions(group)) {
      streams.out << group << (version.empty() ? "" : " ") << version << ":";
      for (const Method& method : catalog.Methods(group, version)) {
        streams.out << " " << method.descriptor->name();
      }
      streams.out << "\n";
    }
  }
  return kOk;
}

absl::StatusOr<int> Describe(const Catalog& catalog, const CommandLine& line,
                             const Streams& streams) {
  const std::vector<std::string>& words = line.words;
  if (words.size() == 1) return List(catalog, line, streams);
  if (words.size() > 3) {
    return Invalid("too many arguments; usage: csi-proxyctl describe [GROUP [METHOD]]");
  }
  if (words.size() == 3) {
    ABSL_ASSIGN_OR_RETURN(const Method method, catalog.Find(words[1], words[2], line.api));
    DescribeMethod(method, streams.out);
    return kOk;
  }
  ABSL_ASSIGN_OR_RETURN(const auto versions, catalog.VersionsFor(words[1], line.api));
  for (const Method& method : catalog.Methods(Plain(words[1]), versions.front())) {
    DescribeMethod(method, streams.out);
  }
  return kOk;
}

std::string ExampleOf(const Catalog& catalog, const Method& method) {
  const absl::string_view name = method.descriptor->name();
  std::string line = absl::StrCat("csi-proxyctl ", method.group, " ", KebabCase(name));
  const auto preferred = catalog.Find(method.group, name, "");
  if (preferred.ok() && preferred->version != method.version) {
    absl::StrAppend(&line, " --api=", method.version);
  }
  for (const FieldFlag& field : FieldsAsFlags(*method.descriptor->input_type())) {
    const std::string flag = field.flag.substr(2, field.flag.find('=') - 2);
    const auto* const found = absl::c_find_if(kValues, [&](const Value& value) {
      return HasWord(value.flags, flag) && (value.methods.empty() || HasWord(value.methods, name));
    });
    if (found == std::end(kValues)) continue;
    absl::StrAppend(&line, " --", flag);
    if (found->value != nullptr) absl::StrAppend(&line, "=", Quoted(found->value));
  }
  return line;
}

}  // namespace csi_proxy::ctl
