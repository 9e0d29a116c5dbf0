#include "absl/strings/str_cat.h"
#include "codegen/model.h"
#include "codegen/printers.h"

namespace csi_proxy::codegen {
namespace {

using Field = pb::FieldDescriptor;

std::string PbType(const pb::Descriptor& message) {
  return absl::StrCat("::", message.file()->package(), "::", message.name());
}

std::string PbType(const pb::EnumDescriptor& type) {
  return absl::StrCat("::", type.file()->package(), "::", type.name());
}

// Prints the signature of ToHub() or FromHub().
void PrintSignature(const Group& group, const MessagePair& pair, bool to_hub,
                    pb::io::Printer& printer) {
  const Vars vars = {
      {"pb", PbType(*pair.version)}, {"group", group.name}, {"hub", pair.hub->name()}};
  printer.Print(vars, to_hub ? "absl::Status ToHub(const $pb$& in, $group$::$hub$* out)"
                             : "absl::Status FromHub(const $group$::$hub$& in, $pb$* out)");
}

// Prints a statement that returns the status of `expression` unless it is OK.
void PrintChecked(const std::string& expression, pb::io::Printer& printer) {
  printer.Print("if (absl::Status status = $call$; !status.ok()) return status;\n", "call",
                expression);
}

void PrintCheckedIn(const std::string& field, const std::string& expression,
                    pb::io::Printer& printer) {
  printer.Print(
      "if (absl::Status status = $call$; !status.ok()) {\n"
      "  return runtime::InField(\"$field$\", status);\n}\n",
      "call", expression, "field", field);
}

// Prints the conversion of the expression `from` of a version's type into the lvalue `to`.
void PrintValueToHub(const Field& field, Conversion conversion, const std::string& from,
                     const std::string& to, pb::io::Printer& printer) {
  switch (conversion) {
    case Conversion::kCopy:
      printer.Print("$to$ = $from$;\n", "to", to, "from", from);
      return;
    case Conversion::kDecimal:
      PrintChecked(
          absl::StrCat("runtime::DecimalToHub(\"", field.name(), "\", ", from, ", &", to, ")"),
          printer);
      return;
    case Conversion::kWiden:
      PrintChecked(absl::StrCat("runtime::Narrow(absl::StatusCode::kInvalidArgument, \"",
                                field.name(), "\", ", from, ", &", to, ")"),
                   printer);
      return;
    case Conversion::kMessage:
    case Conversion::kEnum:
      PrintCheckedIn(field.name(), absl::StrCat("ToHub(", from, ", &", to, ")"), printer);
      return;
  }
}

void PrintFieldToHub(const FieldPair& pair, pb::io::Printer& printer) {
  const Field& field = *pair.version;
  const std::string in = absl::StrCat("in.", field.lowercase_name(), "()");
  const std::string out = absl::StrCat("out->", pair.hub->name());
  if (!field.is_repeated()) {
    PrintValueToHub(field, pair.value, in, out, printer);
    return;
  }
  if (field.is_map()) {
    printer.Print("$out$.clear();\nfor (const auto& [key, value] : $in$) {\n", "in", in, "out",
                  out);
    printer.Indent();
    std::string key = "key";
    if (pair.key != Conversion::kCopy) {
      printer.Print("$type$ hub_key{};\n", "type",
                    ScalarType(*pair.hub->message_type()->map_key()));
      PrintValueToHub(field, pair.key, "key", "hub_key", printer);
      printer.Print(
          "if ($out$.contains(hub_key)) return runtime::DuplicateKey(\"$field$\", "
          "absl::StrCat(key));\n",
          "out", out, "field", field.name());
      key = "hub_key";
    }
    PrintValueToHub(field, pair.value, "value", absl::StrCat(out, "[", key, "]"), printer);
    printer.Outdent();
    printer.Print("}\n");
    return;
  }
  if (pair.value == Conversion::kCopy) {
    printer.Print("$out$.assign($in$.begin(), $in$.end());\n", "in", in, "out", out);
    return;
  }
  printer.Print("$out$.clear();\n$out$.reserve($in$.size());\n", "in", in, "out", out);
  if (pair.value == Conversion::kEnum) {
    printer.Print("for (const int value : $in$) {\n", "in", in);
  } else {
    printer.Print("for (const auto& value : $in$) {\n", "in", in);
  }
  printer.Indent();
  const std::string from =
      pair.value == Conversion::kEnum
          ? absl::StrCat("static_cast<", PbType(*field.enum_type()), ">(value)")
          : "value";
  PrintValueToHub(field, pair.value, from, absl::StrCat(out, ".emplace_back()"), printer);
  printer.Outdent();
  printer.Print("}\n");
}

// Prints the conversion back of field `name`. `mutable_to` is a pointer to a string or message;
// `assign` begins a statement that assigns a value (`out->set_x(` or `x = (`).
void PrintValueFromHub(const std::string& name, const Field& field, Conversion conversion,
                       const std::string& from, const std::string& assign,
                       const std::string& mutable_to, pb::io::Printer& printer) {
  switch (conversion) {
    case Conversion::kCopy:
      printer.Print("$assign$$from$);\n", "assign", assign, "from", from);
      return;
    case Conversion::kDecimal:
      printer.Print("runtime::DecimalFromHub($from$, $to$);\n", "from", from, "to", mutable_to);
      return;
    case Conversion::kWiden:
      printer.Print("{\n  $type$ narrowed{};\n", "type", ScalarType(field));
      printer.Indent();
      PrintChecked(absl::StrCat("runtime::Narrow(absl::StatusCode::kInternal, \"", name, "\", ",
                                from, ", &narrowed)"),
                   printer);
      printer.Outdent();
      printer.Print("  $assign$narrowed);\n}\n", "assign", assign);
      return;
    case Conversion::kMessage:
      PrintCheckedIn(name, absl::StrCat("FromHub(", from, ", ", mutable_to, ")"), printer);
      return;
    case Conversion::kEnum:
      printer.Print("{\n  $type$ converted{};\n", "type", PbType(*field.enum_type()));
      printer.Indent();
      PrintCheckedIn(name, absl::StrCat("FromHub(", from, ", &converted)"), printer);
      printer.Outdent();
      printer.Print("  $assign$converted);\n}\n", "assign", assign);
      return;
  }
}

void PrintFieldFromHub(const FieldPair& pair, pb::io::Printer& printer) {
  const Field& field = *pair.version;
  const std::string name = field.lowercase_name();
  const std::string in = absl::StrCat("in.", pair.hub->name());
  if (!field.is_repeated()) {
    PrintValueFromHub(field.name(), field, pair.value, in, absl::StrCat("out->set_", name, "("),
                      absl::StrCat("out->mutable_", name, "()"), printer);
    return;
  }
  if (field.is_map()) {
    const Field& value_field = *field.message_type()->map_value();
    printer.Print("out->clear_$name$();\nfor (const auto& [key, value] : $in$) {\n", "in", in,
                  "name", name);
    printer.Indent();
    std::string key = "key";
    if (pair.key == Conversion::kDecimal) {
      printer.Print("std::string text_key;\nruntime::DecimalFromHub(key, &text_key);\n");
      key = "text_key";
    } else if (pair.key == Conversion::kWiden) {
      printer.Print("$type$ narrow_key{};\n", "type", ScalarType(*field.message_type()->map_key()));
      PrintChecked(absl::StrCat("runtime::Narrow(absl::StatusCode::kInternal, \"", field.name(),
                                "\", key, &narrow_key)"),
                   printer);
      key = "narrow_key";
    }
    const std::string slot = absl::StrCat("(*out->mutable_", name, "())[", key, "]");
    PrintValueFromHub(field.name(), value_field, pair.value, "value", absl::StrCat(slot, " = ("),
                      absl::StrCat("&", slot), printer);
    printer.Outdent();
    printer.Print("}\n");
    return;
  }
  printer.Print(
      "out->clear_$name$();\nout->mutable_$name$()->Reserve(static_cast<int>($in$.size()));"
      "\nfor (const auto& value : $in$) {\n",
      "in", in, "name", name);
  printer.Indent();
  PrintValueFromHub(field.name(), field, pair.value, "value", absl::StrCat("out->add_", name, "("),
                    absl::StrCat("out->add_", name, "()"), printer);
  printer.Outdent();
  printer.Print("}\n");
}

void PrintMessageBody(const MessagePair& pair, bool to_hub, pb::io::Printer& printer) {
  printer.Indent();
  if (pair.fields.empty()) {
    printer.Print("(void)in;\n(void)out;\n");
  }
  for (const FieldPair& field : pair.fields) {
    if (to_hub) {
      PrintFieldToHub(field, printer);
    } else {
      PrintFieldFromHub(field, printer);
    }
  }
  printer.Print("return absl::OkStatus();\n");
  printer.Outdent();
  printer.Print("}\n\n");
}

void PrintEnumFunctions(const Group& group, const EnumPair& pair, pb::io::Printer& printer) {
  const Vars vars = {{"pb", PbType(*pair.version)},
                     {"hub", absl::StrCat(group.name, "::", pair.hub->name())},
                     {"name", pair.version->name()}};
  const auto pb_value = [](const pb::EnumValueDescriptor& value) {
    return absl::StrCat("::", value.file()->package(), "::", value.name());
  };
  const auto hub_value = [&](const pb::EnumValueDescriptor& value) {
    return absl::StrCat(vars.at("hub"), "::", EnumeratorName(value.name()));
  };
  printer.Print(vars,
                "absl::Status ToHub($pb$ in, $hub$* out) {\n  switch (static_cast<int>(in)) {\n");
  for (const auto& [version, hub] : pair.to_hub) {
    printer.Print("    case $from$:\n      *out = $to$;\n      return absl::OkStatus();\n", "from",
                  pb_value(*version), "to", hub_value(*hub));
  }
  printer.Print(
      vars,
      "    default:\n      return runtime::UnknownEnum(absl::StatusCode::kInvalidArgument,"
      " \"$name$\", in);\n  }\n}\n\n"
      "absl::Status FromHub($hub$ in, $pb$* out) {\n  switch (in) {\n");
  for (const auto& [hub, version] : pair.from_hub) {
    printer.Print("    case $from$:\n      *out = $to$;\n      return absl::OkStatus();\n", "from",
                  hub_value(*hub), "to", pb_value(*version));
  }
  printer.Print(vars,
                "  }\n  return runtime::UnknownEnum(absl::StatusCode::kInternal, \"$name$\", "
                "static_cast<int>(in));\n}\n\n");
}

}  // namespace

void PrintConvertHeader(const Group& group, const Version& version, pb::io::Printer& printer) {
  const Vars vars = FileVars(group, version);
  PrintBanner(vars, true, printer);
  printer.Print(
      vars,
      "#include \"$group$/$version$/api.pb.h\"\n"
      "#include \"absl/status/status.h\"\n"
      "#include \"csi_proxy/$group$/hub.h\"\n\n"
      "// Convert every message of the version. ToHub() returns INVALID_ARGUMENT, naming the\n"
      "// field, for a value that the hub lacks; an absent message becomes a default one.\n"
      "// FromHub() sets every message, and returns INTERNAL for a value that the version lacks.\n"
      "namespace csi_proxy::$group$::$version$ {\n\n");
  for (const EnumPair& pair : version.enums) {
    const Vars enum_vars = {{"pb", PbType(*pair.version)},
                            {"hub", absl::StrCat(group.name, "::", pair.hub->name())}};
    printer.Print(enum_vars,
                  "absl::Status ToHub($pb$ in, $hub$* out);\n"
                  "absl::Status FromHub($hub$ in, $pb$* out);\n");
  }
  for (const MessagePair& pair : version.messages) {
    if (pair.is_overridden) printer.Print("// Handwritten.\n");
    for (const bool to_hub : {true, false}) {
      PrintSignature(group, pair, to_hub, printer);
      printer.Print(";\n");
    }
  }
  printer.Print(vars, "\n}  // namespace csi_proxy::$group$::$version$\n");
}

void PrintConvertSource(const Group& group, const Version& version, pb::io::Printer& printer) {
  const Vars vars = FileVars(group, version);
  PrintBanner(vars, false, printer);
  printer.Print(vars,
                "#include \"csi_proxy/$group$/$version$/convert.h\"\n\n"
                "#include <string>\n\n"
                "#include \"absl/strings/str_cat.h\"\n"
                "#include \"codegen/runtime/convert_runtime.h\"\n\n"
                "namespace csi_proxy::$group$::$version$ {\n\n"
                "namespace runtime = ::csi_proxy::codegen::runtime;\n\n");
  for (const EnumPair& pair : version.enums) PrintEnumFunctions(group, pair, printer);
  for (const MessagePair& pair : version.messages) {
    if (pair.is_overridden) continue;
    for (const bool to_hub : {true, false}) {
      PrintSignature(group, pair, to_hub, printer);
      printer.Print(" {\n");
      PrintMessageBody(pair, to_hub, printer);
    }
  }
  printer.Print(vars, "}  // namespace csi_proxy::$group$::$version$\n");
}

}  // namespace csi_proxy::codegen
