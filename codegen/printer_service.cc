#include "absl/strings/str_cat.h"
#include "codegen/printers.h"

namespace csi_proxy::codegen {

void PrintApiHeader(const Group& group, const Version& version, pb::io::Printer& printer) {
  const Vars vars = FileVars(group, version);
  PrintBanner(vars, true, printer);
  printer.Print(vars,
                "#include \"$group$/$version$/api.pb.h\"\n"
                "#include \"absl/status/status.h\"\n"
                "#include \"csi_proxy/call_context.h\"\n\n");
  OpenNamespace(vars, printer);
  for (int i = 0; i < version.file->enum_type_count(); ++i) {
    printer.Print("using $name$ = ::$package$::$name$;\n", "name",
                  version.file->enum_type(i)->name(), "package", version.file->package());
  }
  for (int i = 0; i < version.file->message_type_count(); ++i) {
    printer.Print("using $name$ = ::$package$::$name$;\n", "name",
                  version.file->message_type(i)->name(), "package", version.file->package());
  }
  printer.Print("\n");
  PrintComment(CommentOf(*version.service), printer);
  printer.Print(
      "// The version's rpcs, implemented by the service and by clients of each mode. "
      "Implementations\n"
      "// must be thread-safe, and write `*response` only if they return OK.\n"
      "class Api {\n public:\n  virtual ~Api() = default;\n");
  printer.Indent();
  for (const MethodPair& pair : version.methods) {
    printer.Print("\n");
    PrintComment(CommentOf(*pair.version), printer);
    printer.Print(
        "virtual absl::Status $method$(const CallContext& context, const $request$& request,\n"
        "    $response$* response) = 0;\n",
        "method", pair.version->name(), "request", pair.version->input_type()->name(), "response",
        pair.version->output_type()->name());
  }
  printer.Outdent();
  printer.Print("};\n");
  CloseNamespace(vars, printer);
}

void PrintShimHeader(const Group& group, const Version& version, pb::io::Printer& printer) {
  const Vars vars = FileVars(group, version);
  PrintBanner(vars, true, printer);
  printer.Print(vars,
                "#include \"csi_proxy/$group$/$version$/api.h\"\n"
                "#include \"csi_proxy/$group$/hub.h\"\n"
                "#include \"server/calls/call.h\"\n"
                "#include \"server/calls/served_version.h\"\n\n");
  OpenNamespace(vars, printer);
  printer.Print(
      vars,
      "// Serves the version: converts the request, calls the hub's service, converts the "
      "response.\n"
      "class Shim final : public Api {\n public:\n"
      "  // Runs calls through `calls`, or at once if that is null. Both must outlive the shim.\n"
      "  explicit Shim($group$::Service* service, const rpc::CallDeps* calls = nullptr)\n"
      "      : service_(service), calls_(calls) {}\n\n");
  ForEachMethod(version, vars,
                "  absl::Status $method$(const CallContext& context, const $request$& request,\n"
                "      $response$* response) override;\n",
                printer);
  printer.Print(vars,
                "\n private:\n  $group$::Service* const service_;\n"
                "  const rpc::CallDeps* const calls_;\n};\n\n"
                "// The version as the service registers it.\n"
                "extern const rpc::ServedVersion<$group$::Service> kServed;\n");
  CloseNamespace(vars, printer);
}

void PrintShimSource(const Group& group, const Version& version, pb::io::Printer& printer) {
  const Vars vars = FileVars(group, version);
  PrintBanner(vars, false, printer);
  printer.Print(vars,
                "#include \"csi_proxy/$group$/$version$/shim.h\"\n\n"
                "#include \"csi_proxy/$group$/$version$/convert.h\"\n"
                "#include \"csi_proxy/$group$/$version$/methods.h\"\n"
                "#include \"server/calls/request_fields.h\"\n\n");
  OpenNamespace(vars, printer);
  ForEachMethod(
      version, vars,
      "absl::Status Shim::$method$(const CallContext& context, const $request$& request,\n"
      "    $response$* response) {\n"
      "  return rpc::RunAt(calls_, methods::k$method$, context, [&](const CallContext& c) {\n"
      "    if (absl::Status status = rpc::CheckKnownFields(methods::k$method$, request);\n"
      "        !status.ok()) {\n"
      "      return status;\n"
      "    }\n"
      "    $group$::$hub_request$ hub_request;\n"
      "    if (absl::Status status = ToHub(request, &hub_request); !status.ok()) return status;\n"
      "    const auto hub_response = service_->$hub_method$(c, hub_request);\n"
      "    if (!hub_response.ok()) return hub_response.status();\n"
      "    return FromHub(*hub_response, response);\n"
      "  });\n"
      "}\n\n",
      printer);
  printer.Print(
      vars,
      "namespace {\n\n"
      "std::shared_ptr<void> Open($group$::Service* service, const rpc::CallDeps* calls) {\n"
      "  return std::shared_ptr<Api>(std::make_shared<Shim>(service, calls));\n}\n\n"
      "constexpr rpc::UnaryMethod kMethods[] = {\n");
  ForEachMethod(version, vars,
                "    rpc::MakeUnaryMethod<Api, $request$, $response$, &Api::$method$>(\n"
                "        methods::k$method$),\n",
                printer);
  printer.Print(vars,
                "};\n\n}  // namespace\n\n"
                "const rpc::ServedVersion<$group$::Service> kServed = {\n"
                "    \"$version$\", \"$service$\", &Open, kMethods};\n");
  CloseNamespace(vars, printer);
}

void PrintMethodsHeader(const Group& group, const Version& version, pb::io::Printer& printer) {
  const Vars vars = FileVars(group, version);
  PrintBanner(vars, true, printer);
  printer.Print("#include \"server/calls/method_info.h\"\n\n");
  printer.Print(vars,
                "// The names and properties of the version's rpcs.\n"
                "namespace csi_proxy::$group$::$version$::methods {\n\n");
  ForEachMethod(version, vars,
                "inline constexpr rpc::MethodInfo k$method${\n"
                "    \"$group$\", \"$version$\", \"$service$\", \"$method$\",\n"
                "    \"$pipe$\", \"/$service$/$method$\", $reads$, $has_secrets$};\n",
                printer);
  printer.Print(vars, "\n}  // namespace csi_proxy::$group$::$version$::methods\n");
}

void PrintServedVersionsHeader(const Group& group, pb::io::Printer& printer) {
  const Vars vars = FileVars(group);
  PrintBanner(vars, true, printer);
  printer.Print(vars,
                "#include <vector>\n\n#include \"csi_proxy/$group$/hub.h\"\n"
                "#include \"server/calls/served_version.h\"\n\n"
                "namespace csi_proxy::$group$ {\n\n"
                "// Returns every released version of the group.\n"
                "std::vector<const rpc::ServedVersion<Service>*> ServedVersions();\n\n"
                "}  // namespace csi_proxy::$group$\n");
}

void PrintServedVersionsSource(const Group& group, pb::io::Printer& printer) {
  const Vars vars = FileVars(group);
  PrintBanner(vars, false, printer);
  printer.Print(vars, "#include \"csi_proxy/$group$/served_versions.h\"\n\n");
  for (const Version& version : group.versions) {
    printer.Print(FileVars(group, version), "#include \"csi_proxy/$group$/$version$/shim.h\"\n");
  }
  printer.Print(vars,
                "\nnamespace csi_proxy::$group$ {\n\n"
                "std::vector<const rpc::ServedVersion<Service>*> ServedVersions() {\n"
                "  return {\n");
  for (const Version& version : group.versions) {
    printer.Print(FileVars(group, version), "      &$version$::kServed,\n");
  }
  printer.Print(vars, "  };\n}\n\n}  // namespace csi_proxy::$group$\n");
}

}  // namespace csi_proxy::codegen
