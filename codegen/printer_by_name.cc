#include "absl/strings/str_cat.h"
#include "codegen/printers.h"

namespace csi_proxy::codegen {

void PrintByNameHeader(const Group& group, const Version& version, pb::io::Printer& printer) {
  const Vars vars = FileVars(group, version);
  PrintBanner(vars, true, printer);
  printer.Print(
      vars,
      "#include <google/protobuf/message.h>\n\n"
      "#include \"absl/status/status.h\"\n#include \"absl/strings/string_view.h\"\n"
      "#include \"csi_proxy/$group$/$version$/client.h\"\n\n"
      "namespace csi_proxy::$group$::$version$ {\n\n"
      "// Calls the client's `method`. Returns UNIMPLEMENTED if there is no such method,\n"
      "// INVALID_ARGUMENT unless `request` and `*response` are of its types.\n"
      "absl::Status CallByName(const Client& client, absl::string_view method,\n"
      "                        const google::protobuf::Message& request,\n"
      "                        google::protobuf::Message* response,\n"
      "                        const CallOptions& options = {});\n\n"
      "}  // namespace csi_proxy::$group$::$version$\n");
}

void PrintByNameSource(const Group& group, const Version& version, pb::io::Printer& printer) {
  const Vars vars = FileVars(group, version);
  PrintBanner(vars, false, printer);
  printer.Print(
      vars,
      "#include \"csi_proxy/$group$/$version$/by_name.h\"\n\n#include <utility>\n\n"
      "#include \"absl/strings/str_cat.h\"\n\n"
      "namespace csi_proxy::$group$::$version$ {\nnamespace {\n\n"
      "using google::protobuf::DynamicCastToGenerated;\nusing google::protobuf::Message;\n\n"
      "template <typename Request, typename Response>\n"
      "absl::Status Call(const Client& client,\n"
      "    absl::StatusOr<Response> (Client::*method)(const Request&, const CallOptions&)"
      " const,\n"
      "    const Message& request, Message* response, const CallOptions& options) {\n"
      "  const auto* const typed_request = DynamicCastToGenerated<Request>(&request);\n"
      "  auto* const typed_response = DynamicCastToGenerated<Response>(response);\n"
      "  if (typed_request == nullptr || typed_response == nullptr) {\n"
      "    return absl::InvalidArgumentError(\"a message is not of the method's type\");\n"
      "  }\n"
      "  absl::StatusOr<Response> result = (client.*method)(*typed_request, options);\n"
      "  if (!result.ok()) return result.status();\n"
      "  *typed_response = *std::move(result);\n"
      "  return absl::OkStatus();\n}\n\n}  // namespace\n\n"
      "absl::Status CallByName(const Client& client, absl::string_view method,\n"
      "    const Message& request, Message* response, const CallOptions& options) {\n");
  for (const MethodPair& pair : version.methods) {
    printer.Print(
        "  if (method == \"$method$\") {\n"
        "    return Call(client, &Client::$method$, request, response, options);\n  }\n",
        "method", pair.version->name());
  }
  printer.Print(vars,
                "  return absl::UnimplementedError(absl::StrCat(\"$group$ $version$ has no method "
                "\", method));\n}\n\n}  // namespace csi_proxy::$group$::$version$\n");
}

void PrintRoundTripHeader(const Group& group, const Version& version, pb::io::Printer& printer) {
  const Vars vars = FileVars(group, version);
  PrintBanner(vars, true, printer);
  printer.Print(
      vars,
      "#include <google/protobuf/message.h>\n\n"
      "#include \"absl/status/status.h\"\n\n"
      "namespace csi_proxy::$group$::$version$ {\n\n"
      "// Converts `in` to the hub's message and that to `*out`. Returns UNIMPLEMENTED if `in` is\n"
      "// not of this version, INVALID_ARGUMENT unless `*out` is of the type of `in`.\n"
      "absl::Status RoundTrip(const google::protobuf::Message& in,\n"
      "                       google::protobuf::Message* out);\n\n"
      "}  // namespace csi_proxy::$group$::$version$\n");
}

void PrintRoundTripSource(const Group& group, const Version& version, pb::io::Printer& printer) {
  const Vars vars = FileVars(group, version);
  PrintBanner(vars, false, printer);
  printer.Print(
      vars,
      "#include \"csi_proxy/$group$/$version$/round_trip.h\"\n\n"
      "#include \"absl/strings/str_cat.h\"\n"
      "#include \"csi_proxy/$group$/$version$/convert.h\"\n\n"
      "namespace csi_proxy::$group$::$version$ {\nnamespace {\n\n"
      "template <typename Version, typename Hub>\n"
      "absl::Status Convert(const google::protobuf::Message& in,\n"
      "                     google::protobuf::Message* out) {\n"
      "  const auto* const from = google::protobuf::DynamicCastToGenerated<Version>(&in);\n"
      "  auto* const to = google::protobuf::DynamicCastToGenerated<Version>(out);\n"
      "  if (from == nullptr || to == nullptr) {\n"
      "    return absl::InvalidArgumentError(\"the messages are not of one type\");\n"
      "  }\n"
      "  Hub hub;\n"
      "  if (absl::Status status = ToHub(*from, &hub); !status.ok()) return status;\n"
      "  return FromHub(hub, to);\n}\n\n}  // namespace\n\n"
      "absl::Status RoundTrip(const google::protobuf::Message& in,\n"
      "                       google::protobuf::Message* out) {\n"
      "  const std::string& name = in.GetDescriptor()->full_name();\n");
  for (const MessagePair& pair : version.messages) {
    printer.Print(
        "  if (name == \"$full_name$\") return Convert<::$package$::$name$, $group$::$hub$>(in, "
        "out);\n",
        "full_name", pair.version->full_name(), "package", version.file->package(), "name",
        pair.version->name(), "group", group.name, "hub", pair.hub->name());
  }
  printer.Print(vars,
                "  return absl::UnimplementedError(absl::StrCat(\"$group$ $version$ has no message "
                "\", name));\n}\n\n}  // namespace csi_proxy::$group$::$version$\n");
}

}  // namespace csi_proxy::codegen
