#include "api/reference.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/text_format.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "annotations.pb.h"
#include "codegen/conversions.pb.h"
#include "codegen/model.h"

namespace csi_proxy::api {
namespace {

constexpr absl::string_view kIntroduction = R"(# API reference

<!-- Written by `reference_tool --write api` from the comments in this folder: edit those. -->

What a client may call, group by group. Every version of a group is a gRPC service of its own, on
a pipe of its own: `\\.\pipe\csi-proxy-<group>-<version>` on Windows,
`<socket-dir>/csi-proxy-<group>-<version>.sock` on Linux. Its package is the bare version, so the
path of a call is for example `/v1.Volume/MountVolume`.

The signature under a heading is the hub's: the canonical method, which all versions become and
which is called without versions by code that links the library. Below it stand the versions as
they are on the wire; those that agree word for word share a table. Its last column names the hub's
field; `-` is one that the hub does not know: ignored in requests, left at its default in responses.
)";

// Comment text as one line of Markdown, fit for a table's cell.
std::string OneLine(const std::string& comment) {
  std::vector<std::string> words =
      absl::StrSplit(comment, absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
  return absl::StrReplaceAll(absl::StrJoin(words, " "), {{"|", "\\|"}});
}

template <typename Descriptor>
std::string CommentOf(const Descriptor& descriptor) {
  pb::SourceLocation location;
  return descriptor.GetSourceLocation(&location) ? OneLine(location.leading_comments) : "";
}

std::string CommentOfFile(const pb::FileDescriptor& file) {
  pb::SourceLocation location;
  const std::vector<int> syntax = {pb::FileDescriptorProto::kSyntaxFieldNumber};
  return file.GetSourceLocation(syntax, &location) ? OneLine(location.leading_comments) : "";
}

// `uint32 disk_number, bool is_online`
std::string Signature(const pb::Descriptor& message) {
  std::vector<std::string> fields;
  for (int i = 0; i < message.field_count(); ++i) {
    fields.push_back(absl::StrCat(TypeName(*message.field(i)), " ", message.field(i)->name()));
  }
  return absl::StrJoin(fields, ", ");
}

// A line for each field that has something to tell beyond its name.
std::string HubFields(const pb::Descriptor& message) {
  std::string text;
  for (int i = 0; i < message.field_count(); ++i) {
    const pb::FieldDescriptor& field = *message.field(i);
    std::string comment = CommentOf(field);
    if (field.options().GetExtension(secret)) {
      absl::StrAppend(&comment, comment.empty() ? "" : " ", "Secret: it is never logged.");
    }
    if (!comment.empty()) absl::StrAppend(&text, "- `", field.name(), "`: ", comment, "\n");
  }
  return text;
}

// The hub's fields for the fields of all versions.
using FieldPairs = std::map<const pb::FieldDescriptor*, const codegen::FieldPair*>;

std::string HubColumn(const pb::FieldDescriptor& field, const FieldPairs& pairs,
                      const std::set<const pb::Descriptor*>& overridden) {
  if (overridden.contains(field.containing_type())) return "by hand";
  const auto found = pairs.find(&field);
  if (found == pairs.end()) return "-";
  const codegen::FieldPair& pair = *found->second;
  std::string text = absl::StrCat("`", pair.hub->name(), "`");
  if (pair.value == codegen::Conversion::kDecimal) absl::StrAppend(&text, ", from decimal");
  if (pair.key == codegen::Conversion::kDecimal) absl::StrAppend(&text, ", keys from decimal");
  if (pair.value == codegen::Conversion::kWiden) absl::StrAppend(&text, ", checked range");
  return text;
}

// Forms of one thing, each with the versions that have it, in the order of the first of them.
class Forms {
 public:
  void Add(const std::string& version, const std::string& form) {
    for (auto& [text, versions] : forms_) {
      if (text != form) continue;
      versions.push_back(version);
      return;
    }
    forms_.push_back({form, {version}});
  }
  // A form may hold `$versions`, replaced by those that have it.
  std::string Text() const {
    std::string text;
    for (const auto& [form, versions] : forms_) {
      absl::StrAppend(&text, "\n",
                      absl::StrReplaceAll(form, {{"$versions", absl::StrJoin(versions, ", ")}}));
    }
    return text;
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> forms_;
};

class GroupPrinter {
 public:
  // `paired` is `group` as the generator sees it.
  GroupPrinter(const Group& group, const codegen::Group& paired) : group_(group), paired_(paired) {
    for (const codegen::Version& version : paired.versions) {
      for (const codegen::MessagePair& message : version.messages) {
        if (message.is_overridden) overridden_.insert(message.version);
        for (const codegen::FieldPair& field : message.fields) pairs_[field.version] = &field;
      }
      for (const codegen::MethodPair& method : version.methods) {
        methods_[{method.hub, version.name}] = method.version;
      }
    }
  }

  // Which version has which method, and under what name.
  std::string Compatibility() const {
    std::string text = absl::StrCat("\n| ", group_.name, " |");
    std::string rule = "\n|---|";
    for (const Version& version : group_.versions) {
      absl::StrAppend(&text, " ", version.name, " |");
      absl::StrAppend(&rule, "---|");
    }
    text += rule;
    ForEachMethod([&](const pb::MethodDescriptor& hub) {
      absl::StrAppend(&text, "\n| ", hub.name(), " |");
      for (const Version& version : group_.versions) {
        const pb::MethodDescriptor* method = Find(hub, version);
        const std::string cell = method == nullptr              ? "-"
                                 : method->name() == hub.name() ? "yes"
                                                                : method->name();
        absl::StrAppend(&text, " ", cell, " |");
      }
    });
    return text + "\n";
  }

  std::string Methods() const {
    std::string text = absl::StrCat("\n## ", group_.name, "\n\n", CommentOfFile(*group_.hub), "\n");
    ForEachMethod([&](const pb::MethodDescriptor& hub) {
      absl::StrAppend(&text, "\n### ", group_.name, ": ", hub.name(), "\n\n", CommentOf(hub),
                      "\n\n`", hub.name(), "(", Signature(*hub.input_type()), ") -> (",
                      Signature(*hub.output_type()), ")`\n");
      const std::string fields = HubFields(*hub.input_type()) + HubFields(*hub.output_type());
      if (!fields.empty()) absl::StrAppend(&text, "\n", fields);
      Forms forms;
      for (const Version& version : group_.versions) {
        if (const pb::MethodDescriptor* method = Find(hub, version); method != nullptr) {
          forms.Add(version.name, MethodForm(*method));
        }
      }
      text += forms.Text();
    });
    return text;
  }

  // The types of the methods' messages.
  std::string Types() const {
    std::set<std::string> names;
    std::map<std::string, std::string> in_hub;
    std::map<std::string, Forms> in_versions;
    ForEachType(*group_.hub, [&](const std::string& name, const auto& type) {
      names.insert(name);
      in_hub[name] = HubForm(type);
    });
    for (const Version& version : group_.versions) {
      ForEachType(*version.file, [&](const std::string& name, const auto& type) {
        names.insert(name);
        in_versions[name].Add(version.name, TypeForm(type));
      });
    }
    std::string text;
    for (const std::string& name : names) {
      absl::StrAppend(&text, "\n### ", group_.name, ": type ", name, "\n", in_hub[name],
                      in_versions[name].Text());
    }
    return text;
  }

 private:
  template <typename Visit>
  void ForEachMethod(Visit visit) const {
    for (int i = 0; i < paired_.service->method_count(); ++i) visit(*paired_.service->method(i));
  }

  // Messages and enums of a file that are not a request or response of their own.
  template <typename Visit>
  static void ForEachType(const pb::FileDescriptor& file, Visit visit) {
    std::set<const pb::Descriptor*> of_methods;
    for (int i = 0; i < file.service_count(); ++i) {
      for (int j = 0; j < file.service(i)->method_count(); ++j) {
        of_methods.insert(file.service(i)->method(j)->input_type());
        of_methods.insert(file.service(i)->method(j)->output_type());
      }
    }
    for (int i = 0; i < file.message_type_count(); ++i) {
      const pb::Descriptor& message = *file.message_type(i);
      if (!of_methods.contains(&message)) visit(LocalName(message), message);
    }
    for (int i = 0; i < file.enum_type_count(); ++i) {
      visit(LocalName(*file.enum_type(i)), *file.enum_type(i));
    }
  }

  const pb::MethodDescriptor* Find(const pb::MethodDescriptor& hub, const Version& version) const {
    const auto found = methods_.find({&hub, version.name});
    return found == methods_.end() ? nullptr : found->second;
  }

  std::string Rows(absl::string_view kind, const pb::Descriptor& message) const {
    std::string text;
    for (int i = 0; i < message.field_count(); ++i) {
      const pb::FieldDescriptor& field = *message.field(i);
      absl::StrAppend(&text, "| ", kind, field.number(), " | `", field.name(), "` | `",
                      TypeName(field), "` | ", CommentOf(field), " | ",
                      HubColumn(field, pairs_, overridden_), " |\n");
    }
    return text;
  }

  static std::string Table(const std::string& rows) {
    if (rows.empty()) return "";
    return "\n| | field | type | meaning | hub |\n|---|---|---|---|---|\n" + rows;
  }

  std::string MethodForm(const pb::MethodDescriptor& method) const {
    const std::string comment = CommentOf(method);
    return absl::StrCat(
        "**$versions**: `", method.name(), "`.", comment.empty() ? "" : " ", comment, "\n",
        Table(Rows("request ", *method.input_type()) + Rows("response ", *method.output_type())));
  }
  std::string TypeForm(const pb::Descriptor& message) const {
    return absl::StrCat("**$versions**: ", CommentOf(message), "\n", Table(Rows("", message)));
  }
  std::string TypeForm(const pb::EnumDescriptor& type) const {
    return absl::StrCat("**$versions**: ", CommentOf(type), "\n", Values(type));
  }

  static std::string HubForm(const pb::Descriptor& message) {
    const std::string fields = HubFields(message);
    return absl::StrCat("\n", CommentOf(message), "\n\n`", message.name(), "(", Signature(message),
                        ")`\n", fields.empty() ? "" : "\n", fields);
  }
  static std::string HubForm(const pb::EnumDescriptor& type) {
    return absl::StrCat("\n", CommentOf(type), "\n", Values(type));
  }
  static std::string Values(const pb::EnumDescriptor& type) {
    std::string text = "\n| | value | meaning |\n|---|---|---|\n";
    for (int i = 0; i < type.value_count(); ++i) {
      const pb::EnumValueDescriptor& value = *type.value(i);
      absl::StrAppend(&text, "| ", value.number(), " | `", value.name(), "` | ", CommentOf(value),
                      " |\n");
    }
    return text;
  }

  const Group& group_;
  const codegen::Group& paired_;
  FieldPairs pairs_;
  std::set<const pb::Descriptor*> overridden_;
  std::map<std::pair<const pb::MethodDescriptor*, std::string>, const pb::MethodDescriptor*>
      methods_;
};

absl::StatusOr<codegen::Group> Pair(const Files& files, const Group& group) {
  const std::string path = group.name + "/conversions.textproto";
  const auto source = files.sources().find(path);
  if (source == files.sources().end()) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is missing"));
  }
  codegen::Conversions conversions;
  if (!pb::TextFormat::ParseFromString(source->second, &conversions)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " does not parse"));
  }
  if (group.hub == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(group.name, "/hub.proto is missing"));
  }
  std::vector<const pb::FileDescriptor*> protos = {group.hub};
  for (const Version& version : group.versions) protos.push_back(version.file);
  return codegen::BuildGroup(group.name, protos, conversions);
}

}  // namespace

absl::StatusOr<std::string> Reference(const Files& files) {
  std::string compatibility = "\n## Which version has what\n";
  std::string groups;
  for (const Group& group : files.groups()) {
    const absl::StatusOr<codegen::Group> paired = Pair(files, group);
    if (!paired.ok()) return paired.status();
    const GroupPrinter printer(group, *paired);
    compatibility += printer.Compatibility();
    absl::StrAppend(&groups, printer.Methods(), printer.Types());
  }
  return absl::StrCat(kIntroduction, compatibility, groups);
}

}  // namespace csi_proxy::api
