#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "annotations.pb.h"
#include "codegen/files.h"
#include "codegen/model.h"
#include "codegen/printers.h"

namespace csi_proxy::codegen {
namespace {

using Field = pb::FieldDescriptor;

std::string ElementType(const Field& field) {
  switch (field.type()) {
    case Field::TYPE_MESSAGE:
      return field.message_type()->name();
    case Field::TYPE_ENUM:
      return field.enum_type()->name();
    default:
      return ScalarType(field);
  }
}

std::string FieldType(const Field& field) {
  if (field.is_map()) {
    return absl::StrCat("std::map<", ElementType(*field.message_type()->map_key()), ", ",
                        ElementType(*field.message_type()->map_value()), ">");
  }
  if (field.is_repeated()) return absl::StrCat("std::vector<", ElementType(field), ">");
  return ElementType(field);
}

// Returns the default of a member. Every member has a default, so that designated initialisers may
// omit the member.
std::string DefaultValue(const Field& field) {
  if (field.is_repeated()) return "{}";
  switch (field.cpp_type()) {
    case Field::CPPTYPE_STRING:
    case Field::CPPTYPE_MESSAGE:
      return "{}";
    case Field::CPPTYPE_BOOL:
      return " = false";
    case Field::CPPTYPE_ENUM:
      return absl::StrCat(" = ", field.enum_type()->name(),
                          "::", EnumeratorName(field.enum_type()->FindValueByNumber(0)->name()));
    default:
      return " = 0";
  }
}

// Returns the messages in an order in which each follows the messages that it contains.
std::vector<const pb::Descriptor*> InDependencyOrder(const pb::FileDescriptor& file) {
  std::vector<const pb::Descriptor*> order;
  std::set<const pb::Descriptor*> done;
  std::function<void(const pb::Descriptor*)> visit = [&](const pb::Descriptor* message) {
    if (!done.insert(message).second) return;
    for (int i = 0; i < message->field_count(); ++i) {
      const Field* field = message->field(i);
      if (field->is_map()) field = field->message_type()->map_value();
      if (field->type() == Field::TYPE_MESSAGE) visit(field->message_type());
    }
    order.push_back(message);
  };
  for (int i = 0; i < file.message_type_count(); ++i) visit(file.message_type(i));
  return order;
}

// The comments of the hub. A declaration without a comment in hub.proto gets the comment of its
// counterpart in the newest version where the counterpart has one.
class HubComments {
 public:
  explicit HubComments(const Group& group) {
    std::map<std::string, const Version*, decltype(&api::IsOlder)> by_age(&api::IsOlder);
    for (const Version& version : group.versions) by_age[version.name] = &version;
    // A newer version replaces the comments of an older one.
    for (const auto& [name, version] : by_age) {
      Add(group.service, version->service);
      for (const MethodPair& method : version->methods) Add(method.hub, method.version);
      for (const MessagePair& message : version->messages) {
        Add(message.hub, message.version);
        for (const FieldPair& field : message.fields) Add(field.hub, field.version);
      }
      for (const EnumPair& type : version->enums) {
        Add(type.hub, type.version);
        for (const auto& [value, hub] : type.to_hub) Add(hub, value);
      }
    }
  }

  template <typename Descriptor>
  void Print(const Descriptor& hub, pb::io::Printer& printer) const {
    const std::string own = CommentOf(hub);
    const auto found = counterparts_.find(&hub);
    PrintComment(own.empty() && found != counterparts_.end() ? found->second : own, printer);
  }

 private:
  template <typename Descriptor>
  void Add(const Descriptor* hub, const Descriptor* version) {
    if (std::string comment = CommentOf(*version); !comment.empty()) {
      counterparts_[hub] = std::move(comment);
    }
  }

  // The comment of each counterpart, by the address of the hub's descriptor.
  std::map<const void*, std::string> counterparts_;
};

void PrintEnum(const pb::EnumDescriptor& type, const HubComments& comments,
               pb::io::Printer& printer) {
  comments.Print(type, printer);
  printer.Print("enum class $name$ : int {\n", "name", type.name());
  printer.Indent();
  for (int i = 0; i < type.value_count(); ++i) {
    comments.Print(*type.value(i), printer);
    printer.Print("$name$ = $number$,\n", "name", EnumeratorName(type.value(i)->name()), "number",
                  absl::StrCat(type.value(i)->number()));
  }
  printer.Outdent();
  printer.Print("};\n\n");
}

void PrintDestructor(const pb::Descriptor& message, pb::io::Printer& printer) {
  if (!HoldsSecrets(message)) return;
  printer.Print("$name$::~$name$() {\n", "name", message.name());
  for (int i = 0; i < message.field_count(); ++i) {
    if (!message.field(i)->options().GetExtension(api::secret)) continue;
    printer.Print("  Wipe($field$);\n", "field", message.field(i)->name());
  }
  printer.Print("}\n\n");
}

void PrintStruct(const pb::Descriptor& message, const HubComments& comments,
                 pb::io::Printer& printer) {
  comments.Print(message, printer);
  printer.Print("struct $name$ {\n", "name", message.name());
  printer.Indent();
  for (int i = 0; i < message.field_count(); ++i) {
    const Field& field = *message.field(i);
    comments.Print(field, printer);
    printer.Print("$type$ $name$$default$;\n", "type", FieldType(field), "name", field.name(),
                  "default", DefaultValue(field));
  }
  if (message.field_count() > 0) printer.Print("\n");
  if (HoldsSecrets(message)) {
    printer.Print("// Overwrites the secrets.\n~$name$();\n", "name", message.name());
  }
  printer.Print("friend bool operator==(const $name$&, const $name$&) = default;\n", "name",
                message.name());
  printer.Outdent();
  printer.Print("};\n\n");
}

// Returns the expression that describes one element called `value`.
std::string DescribeElement(const Field& field, const std::string& value) {
  switch (field.type()) {
    case Field::TYPE_MESSAGE:
      return absl::StrCat("\"{\", Describe(", value, "), \"}\"");
    case Field::TYPE_ENUM:
      return absl::StrCat("static_cast<int>(", value, ")");
    case Field::TYPE_BOOL:
      return absl::StrCat(value, " ? \"true\" : \"false\"");
    case Field::TYPE_STRING:
    case Field::TYPE_BYTES:
      return absl::StrCat("codegen::runtime::Quote(", value, ")");
    default:
      return value;
  }
}

void PrintDescribe(const pb::Descriptor& message, pb::io::Printer& printer) {
  // The parameter is unused if the message has no fields, or only secret ones.
  printer.Print(
      "std::string Describe([[maybe_unused]] const $name$& message) {\n"
      "  std::string text;\n",
      "name", message.name());
  printer.Indent();
  for (int i = 0; i < message.field_count(); ++i) {
    const Field& field = *message.field(i);
    const Vars vars = {{"space", i > 0 ? " " : ""}, {"name", field.name()}};
    if (field.options().GetExtension(api::secret)) {
      printer.Print(vars, "absl::StrAppend(&text, \"$space$$name$=<secret>\");\n");
    } else if (field.is_map()) {
      printer.Print(vars, "absl::StrAppend(&text, \"$space$$name$=[\");\n");
      printer.Print("for (const auto& [key, value] : message.$name$) {\n", "name", field.name());
      printer.Print("  absl::StrAppend(&text, $key$, \":\", $value$, \" \");\n}\n", "key",
                    DescribeElement(*field.message_type()->map_key(), "key"), "value",
                    DescribeElement(*field.message_type()->map_value(), "value"));
      printer.Print("absl::StrAppend(&text, \"]\");\n");
    } else if (field.is_repeated()) {
      printer.Print(vars, "absl::StrAppend(&text, \"$space$$name$=[\");\n");
      printer.Print("for (const auto& value : message.$name$) {\n", "name", field.name());
      printer.Print("  absl::StrAppend(&text, $value$, \" \");\n}\n", "value",
                    DescribeElement(field, "value"));
      printer.Print("absl::StrAppend(&text, \"]\");\n");
    } else {
      printer.Print("absl::StrAppend(&text, \"$space$$name$=\", $value$);\n", "space",
                    i > 0 ? " " : "", "name", field.name(), "value",
                    DescribeElement(field, absl::StrCat("message.", field.name())));
    }
  }
  printer.Outdent();
  printer.Print("  return text;\n}\n\n");
}

void PrintAudited(const Group& group, pb::io::Printer& printer) {
  printer.Print(
      "namespace {\n\n"
      "class Audited final : public Service {\n public:\n"
      "  Audited(Service* service, AuditLog* log) : service_(service), log_(log) {}\n");
  for (int i = 0; i < group.service->method_count(); ++i) {
    const pb::MethodDescriptor& method = *group.service->method(i);
    const Vars vars = {{"group", group.name},
                       {"method", method.name()},
                       {"request", method.input_type()->name()},
                       {"response", method.output_type()->name()}};
    printer.Print(vars,
                  "\n  absl::StatusOr<$response$> $method$(\n"
                  "      const CallContext& context, const $request$& request) override {\n");
    printer.Print(
        vars, Reads(method)
                  ? "    const RunningCall running(\"$group$.$method$\", \"\", context.trace());\n"
                    "    return service_->$method$(context, request);\n  }\n"
                  : "    const SteadyTime start = SteadyTime::Now();\n"
                    "    std::string subject = Describe(request);\n"
                    "    const RunningCall running(\"$group$.$method$\", subject,\n"
                    "                              context.trace());\n"
                    "    auto response = service_->$method$(context, request);\n"
                    "    log_->Record({\"$method$\", std::move(subject), context,\n"
                    "                  response.status(), SteadyTime::Now() - start});\n"
                    "    return response;\n  }\n");
  }
  printer.Print(
      "\n private:\n  Service* const service_;\n  AuditLog* const log_;\n};\n\n"
      "}  // namespace\n\n"
      "std::unique_ptr<Service> NewAudited(Service* service, AuditLog* log) {\n"
      "  return std::make_unique<Audited>(service, log);\n}\n\n");
}

// Appends expressions for the request's singular texts and numbers, except secrets.
void AppendFields(const pb::Descriptor& message, const std::string& prefix,
                  std::vector<std::string>* fields) {
  for (int i = 0; i < message.field_count(); ++i) {
    const Field& field = *message.field(i);
    if (field.is_repeated() || field.options().GetExtension(api::secret)) continue;
    const std::string name = absl::StrCat(prefix, ".", field.name());
    switch (field.cpp_type()) {
      case Field::CPPTYPE_MESSAGE:
        AppendFields(*field.message_type(), name, fields);
        break;
      case Field::CPPTYPE_STRING:
        fields->push_back(name);
        break;
      case Field::CPPTYPE_BOOL:
      case Field::CPPTYPE_ENUM:
        break;
      default:
        fields->push_back(absl::StrCat("absl::StrCat(", name, ")"));
    }
  }
}

}  // namespace

void PrintHubHeader(const Group& group, pb::io::Printer& printer) {
  const Vars vars = FileVars(group);
  const HubComments comments(group);
  PrintBanner(vars, true, printer);
  printer.Print(vars,
                "#include <cstdint>\n#include <map>\n#include <memory>\n#include <string>\n"
                "#include <vector>\n\n"
                "#include \"absl/status/statusor.h\"\n#include \"csi_proxy/call_context.h\"\n\n"
                "namespace csi_proxy::$group$ {\n\n");
  for (int i = 0; i < group.hub->enum_type_count(); ++i) {
    PrintEnum(*group.hub->enum_type(i), comments, printer);
  }
  const std::vector<const pb::Descriptor*> messages = InDependencyOrder(*group.hub);
  for (const pb::Descriptor* message : messages) PrintStruct(*message, comments, printer);

  printer.Print(
      "// Returns one line for logs, `field=value ...`: quotes and escapes text, omits secrets.\n");
  for (const pb::Descriptor* message : messages) {
    printer.Print("std::string Describe(const $name$& message);\n", "name", message->name());
  }
  printer.Print("\n");
  comments.Print(*group.service, printer);
  printer.Print(vars, "// Implementations must be thread-safe.\nclass Service {\n public:\n");
  printer.Indent();
  printer.Print("virtual ~Service() = default;\n");
  for (int i = 0; i < group.service->method_count(); ++i) {
    const pb::MethodDescriptor& method = *group.service->method(i);
    printer.Print("\n");
    comments.Print(method, printer);
    printer.Print(
        "virtual absl::StatusOr<$response$> $method$(\n"
        "    const CallContext& context, const $request$& request) = 0;\n",
        "method", method.name(), "request", method.input_type()->name(), "response",
        method.output_type()->name());
  }
  printer.Outdent();
  printer.Print(vars, "};\n\n}  // namespace csi_proxy::$group$\n");
}

void PrintAuditedHeader(const Group& group, pb::io::Printer& printer) {
  const Vars vars = FileVars(group);
  PrintBanner(vars, true, printer);
  printer.Print(
      vars,
      "#include <memory>\n\n#include \"csi_proxy/$group$/hub.h\"\n"
      "#include \"server/base/audit.h\"\n\n"
      "namespace csi_proxy::$group$ {\n\n"
      "// Returns a service that calls `service` and records in `log` each call that changes the\n"
      "// node. Both must outlive it.\n"
      "std::unique_ptr<Service> NewAudited(Service* service, AuditLog* log);\n\n"
      "}  // namespace csi_proxy::$group$\n");
}

void PrintFaultyHeader(const Group& group, pb::io::Printer& printer) {
  const Vars vars = FileVars(group);
  PrintBanner(vars, true, printer);
  printer.Print(vars,
                "#include <memory>\n#include <string>\n#include <utility>\n#include <vector>\n\n"
                "#include \"absl/strings/str_cat.h\"\n#include \"absl/strings/string_view.h\"\n"
                "#include \"csi_proxy/$group$/hub.h\"\n#include \"server/base/fault_gate.h\"\n"
                "#include \"server/base/status_macros.h\"\n\n"
                "namespace csi_proxy::$group$ {\n\n"
                "// The names of the rpcs in faults.\n"
                "inline constexpr absl::string_view kFaultyMethods[] = {\n");
  for (int i = 0; i < group.service->method_count(); ++i) {
    printer.Print("    \"$group$.$method$\",\n", "group", group.name, "method",
                  group.service->method(i)->name());
  }
  printer.Print(
      "};\n\n"
      "// Calls `service` after a gate, which may delay or fail the call.\n"
      "class Faulty final : public Service {\n public:\n"
      "  // `gate` must outlive this object.\n"
      "  Faulty(std::unique_ptr<Service> service, FaultGate* gate)\n"
      "      : service_(std::move(service)), gate_(*gate) {}\n");
  for (int i = 0; i < group.service->method_count(); ++i) {
    const pb::MethodDescriptor& method = *group.service->method(i);
    std::vector<std::string> fields;
    AppendFields(*method.input_type(), "request", &fields);
    std::string list;
    for (const std::string& field : fields) absl::StrAppend(&list, list.empty() ? "" : ", ", field);
    printer.Print(
        "\n  absl::StatusOr<$response$> $method$(\n"
        "      const CallContext& context, const $request$& request) override {\n"
        "    ABSL_RETURN_IF_ERROR(gate_.Pass(context, kFaultyMethods[$index$],\n"
        "                                    [&] { return std::vector<std::string>{$fields$}; "
        "}));\n"
        "    return service_->$method$(context, request);\n  }\n",
        "method", method.name(), "request", method.input_type()->name(), "response",
        method.output_type()->name(), "index", absl::StrCat(i), "fields", list);
  }
  printer.Print(
      vars,
      "\n private:\n  const std::unique_ptr<Service> service_;\n  FaultGate& gate_;\n};\n\n"
      "}  // namespace csi_proxy::$group$\n");
}

void PrintHubSource(const Group& group, pb::io::Printer& printer) {
  const Vars vars = FileVars(group);
  PrintBanner(vars, false, printer);
  printer.Print(vars,
                "#include \"csi_proxy/$group$/hub.h\"\n\n"
                "#include \"csi_proxy/$group$/audited.h\"\n"
                "#include \"absl/strings/str_cat.h\"\n"
                "#include \"codegen/runtime/convert_runtime.h\"\n"
                "#include \"server/base/running_calls.h\"\n");
  const std::vector<const pb::Descriptor*> messages = InDependencyOrder(*group.hub);
  if (std::any_of(messages.begin(), messages.end(),
                  [](const pb::Descriptor* message) { return HoldsSecrets(*message); })) {
    printer.Print("#include \"server/base/secret.h\"\n");
  }
  printer.Print(vars, "\nnamespace csi_proxy::$group$ {\n\n");
  for (const pb::Descriptor* message : messages) {
    PrintDestructor(*message, printer);
    PrintDescribe(*message, printer);
  }
  PrintAudited(group, printer);
  printer.Print(vars, "}  // namespace csi_proxy::$group$\n");
}

}  // namespace csi_proxy::codegen
