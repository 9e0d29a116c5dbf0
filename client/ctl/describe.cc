#include <ostream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/ctl/commands.h"

namespace csi_proxy::ctl {
namespace {

// `uint32`, `AuthType: NONE|ONE_WAY_CHAP`, `list of string`, `map from uint32 to DiskIDs`.
std::string TypeText(const pb::FieldDescriptor& field) {
  if (field.is_map()) {
    return absl::StrCat("map from ", TypeText(*field.message_type()->map_key()), " to ",
                        TypeText(*field.message_type()->map_value()));
  }
  std::string text = field.type_name();
  if (field.message_type() != nullptr) text = field.message_type()->name();
  if (const pb::EnumDescriptor* const type = field.enum_type()) {
    std::vector<std::string> values;
    for (int i = 0; i < type->value_count(); ++i) values.push_back(type->value(i)->name());
    text = absl::StrCat(type->name(), ": ", absl::StrJoin(values, "|"));
  }
  return field.is_repeated() ? absl::StrCat("list of ", text) : text;
}

// The message that a field leads to, or a map's values; null when there is none.
const pb::Descriptor* Inside(const pb::FieldDescriptor& field) {
  if (field.is_map()) return field.message_type()->map_value()->message_type();
  return field.message_type();
}

void DescribeFields(const pb::Descriptor& type, int indent, std::ostream& out) {
  for (int i = 0; i < type.field_count(); ++i) {
    const pb::FieldDescriptor& field = *type.field(i);
    const std::string comment = Comment(field);
    out << std::string(indent, ' ') << field.name() << " (" << TypeText(field) << ")"
        << (comment.empty() ? "" : "  ") << comment << "\n";
    if (const pb::Descriptor* const inside = Inside(field)) {
      DescribeFields(*inside, indent + 2, out);
    }
  }
}

void DescribeMethod(const Method& method, std::ostream& out) {
  const pb::Descriptor& request = *method.descriptor->input_type();
  const pb::Descriptor& response = *method.descriptor->output_type();
  out << method.group << " " << (method.version.empty() ? "" : method.version + " ")
      << method.descriptor->name() << "\n";
  if (const std::string text = Comment(*method.descriptor); !text.empty()) {
    out << "  " << text << "\n";
  }
  for (const pb::Descriptor* const type : {&request, &response}) {
    out << (type == &request ? "  takes" : "  returns")
        << (type->field_count() == 0 ? " nothing\n" : "\n");
    DescribeFields(*type, 4, out);
  }
  out << "  csi-proxyctl " << method.group << " " << KebabCase(method.descriptor->name())
      << (method.version.empty() ? "" : " --api=" + method.version);
  for (const std::string& flag : FieldFlags(request)) out << " " << flag;
  out << "\n\n";
}

}  // namespace

int List(const Catalog& catalog, std::ostream& out) {
  std::vector<std::string> groups = catalog.Groups();
  groups.push_back(kSimulatedGroup);
  for (const std::string& group : groups) {
    for (const std::string& version : catalog.Versions(group)) {
      out << group << (version.empty() ? "" : " ") << version << ":";
      for (const Method& method : catalog.Methods(group, version)) {
        out << " " << method.descriptor->name();
      }
      out << "\n";
    }
  }
  return kOk;
}

int Describe(const Catalog& catalog, const CommandLine& line, const Streams& streams) {
  const std::vector<std::string>& words = line.words;
  if (words.size() == 1) return List(catalog, streams.out);
  if (words.size() > 3) {
    streams.err << "error: too many arguments; usage: csi-proxyctl describe [GROUP [METHOD]]\n";
    return kUsage;
  }
  absl::Status status;
  if (words.size() == 3) {
    const absl::StatusOr<Method> method = catalog.Find(words[1], words[2], line.api);
    status = method.status();
    if (method.ok()) DescribeMethod(*method, streams.out);
  } else {
    const auto versions = catalog.VersionsFor(words[1], line.api);
    status = versions.status();
    if (versions.ok()) {
      for (const Method& method : catalog.Methods(Plain(words[1]), versions->front())) {
        DescribeMethod(method, streams.out);
      }
    }
  }
  if (status.ok()) return kOk;
  streams.err << "error: " << status.message() << "\n";
  return kUsage;
}

}  // namespace csi_proxy::ctl
