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
  PrintComment(*version.service, printer);
  printer.Print(
      "// What every mode of the client and the service speak. Implementations are thread-safe; a\n"
      "// response is only written when OK is returned.\n"
      "class Api {\n public:\n  virtual ~Api() = default;\n");
  printer.Indent();
  for (const MethodPair& pair : version.methods) {
    printer.Print("\n");
    PrintComment(*pair.version, printer);
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
                "#include \"csi_proxy/$group$/hub.h\"\n\n");
  OpenNamespace(vars, printer);
  printer.Print(vars,
                "// The version over the hub's service: converts, calls, converts back.\n"
                "class Shim final : public Api {\n public:\n"
                "  // Does not own `service`, which must outlive the shim.\n"
                "  explicit Shim($group$::Service* service) : service_(service) {}\n\n");
  ForEachMethod(version, vars,
                "  absl::Status $method$(const CallContext& context, const $request$& request,\n"
                "      $response$* response) override;\n",
                printer);
  printer.Print(vars, "\n private:\n  $group$::Service* const service_;\n};\n");
  CloseNamespace(vars, printer);
}

void PrintShimSource(const Group& group, const Version& version, pb::io::Printer& printer) {
  const Vars vars = FileVars(group, version);
  PrintBanner(vars, false, printer);
  printer.Print(vars,
                "#include \"csi_proxy/$group$/$version$/shim.h\"\n\n"
                "#include \"csi_proxy/$group$/$version$/convert.h\"\n\n");
  OpenNamespace(vars, printer);
  ForEachMethod(
      version, vars,
      "absl::Status Shim::$method$(const CallContext& context, const $request$& request,\n"
      "    $response$* response) {\n"
      "  $group$::$hub_request$ hub_request;\n"
      "  if (absl::Status status = ToHub(request, &hub_request); !status.ok()) return "
      "status;\n"
      "  const auto hub_response = service_->$hub_method$(context, hub_request);\n"
      "  if (!hub_response.ok()) return hub_response.status();\n"
      "  return FromHub(*hub_response, response);\n"
      "}\n\n",
      printer);
  CloseNamespace(vars, printer);
}

void PrintMethodsHeader(const Group& group, const Version& version, pb::io::Printer& printer) {
  const Vars vars = FileVars(group, version);
  PrintBanner(vars, true, printer);
  printer.Print("#include \"server/shim/method_info.h\"\n\n");
  printer.Print(vars,
                "// What the version's rpcs are called.\n"
                "namespace csi_proxy::$group$::$version$::methods {\n\n");
  ForEachMethod(version, vars,
                "inline constexpr shim::MethodInfo k$method${\n"
                "    \"$group$\", \"$version$\", \"$service$\", \"$method$\",\n"
                "    \"csi-proxy-$group$-$version$\", \"/$service$/$method$\"};\n",
                printer);
  printer.Print(vars, "\n}  // namespace csi_proxy::$group$::$version$::methods\n");
}

void PrintGrpcServiceHeader(const Group& group, const Version& version, pb::io::Printer& printer) {
  const Vars vars = FileVars(group, version);
  PrintBanner(vars, true, printer);
  printer.Print(vars,
                "#include <grpcpp/impl/service_type.h>\n\n#include <memory>\n\n"
                "#include \"csi_proxy/$group$/$version$/api.h\"\n"
                "#include \"server/shim/runtime.h\"\n\n");
  OpenNamespace(vars, printer);
  printer.Print(vars,
                "// `api` as the gRPC service $service$. Does not own `runtime`.\n"
                "std::unique_ptr<grpc::Service> NewGrpcService(std::unique_ptr<Api> api,\n"
                "                                              const shim::Runtime* runtime);\n");
  CloseNamespace(vars, printer);
}

void PrintGrpcServiceSource(const Group& group, const Version& version, pb::io::Printer& printer) {
  const Vars vars = FileVars(group, version);
  PrintBanner(vars, false, printer);
  printer.Print(vars,
                "#include \"csi_proxy/$group$/$version$/grpc_service.h\"\n\n#include <utility>\n\n"
                "#include \"$group$/$version$/api.grpc.pb.h\"\n"
                "#include \"csi_proxy/$group$/$version$/methods.h\"\n"
                "#include \"server/shim/unary_call.h\"\n\n");
  OpenNamespace(vars, printer);
  printer.Print(vars,
                "namespace {\n\nclass GrpcService final : public "
                "::$version$::$service_name$::CallbackService {\n"
                " public:\n"
                "  GrpcService(std::unique_ptr<Api> api, const shim::Runtime* runtime)\n"
                "      : api_(std::move(api)), runtime_(runtime) {}\n");
  ForEachMethod(version, vars,
                "\n  grpc::ServerUnaryReactor* $method$(grpc::CallbackServerContext* context,\n"
                "      const $request$* request, $response$* response) override {\n"
                "    return shim::StartUnaryCall(*runtime_, methods::k$method$, context, *request, "
                "response,\n"
                "        [this](const CallContext& c, const $request$& in, $response$* out) {\n"
                "          return api_->$method$(c, in, out);\n        });\n  }\n",
                printer);
  printer.Print(
      "\n private:\n  const std::unique_ptr<Api> api_;\n  const shim::Runtime* const runtime_;\n"
      "};\n\n}  // namespace\n\n"
      "std::unique_ptr<grpc::Service> NewGrpcService(std::unique_ptr<Api> api,\n"
      "                                              const shim::Runtime* runtime) {\n"
      "  return std::make_unique<GrpcService>(std::move(api), runtime);\n}\n");
  CloseNamespace(vars, printer);
}

void PrintGrpcServicesHeader(const Group& group, pb::io::Printer& printer) {
  const Vars vars = FileVars(group);
  PrintBanner(vars, true, printer);
  printer.Print(
      vars,
      "#include <vector>\n\n#include \"csi_proxy/$group$/hub.h\"\n"
      "#include \"server/shim/runtime.h\"\n#include \"server/shim/unary_call.h\"\n\n"
      "namespace csi_proxy::$group$ {\n\n"
      "// A gRPC service for every released version of the group. `service` and `runtime`\n"
      "// are not owned and must outlive them.\n"
      "std::vector<shim::VersionedService> NewGrpcServices(Service* service,\n"
      "                                                    const shim::Runtime* runtime);\n"
      "\n}  // namespace csi_proxy::$group$\n");
}

void PrintGrpcServicesSource(const Group& group, pb::io::Printer& printer) {
  const Vars vars = FileVars(group);
  PrintBanner(vars, false, printer);
  printer.Print(vars, "#include \"csi_proxy/$group$/grpc_services.h\"\n\n#include <memory>\n\n");
  for (const Version& version : group.versions) {
    printer.Print(FileVars(group, version),
                  "#include \"csi_proxy/$group$/$version$/grpc_service.h\"\n"
                  "#include \"csi_proxy/$group$/$version$/shim.h\"\n");
  }
  printer.Print(vars,
                "\nnamespace csi_proxy::$group$ {\n\n"
                "std::vector<shim::VersionedService> NewGrpcServices(\n"
                "    Service* service, const shim::Runtime* runtime) {\n"
                "  std::vector<shim::VersionedService> services;\n");
  for (const Version& version : group.versions) {
    printer.Print(FileVars(group, version),
                  "  services.push_back({\"$group$\", \"$version$\", \"$service$\",\n"
                  "      $version$::NewGrpcService(std::make_unique<$version$::Shim>(service), "
                  "runtime)});\n");
  }
  printer.Print(vars, "  return services;\n}\n\n}  // namespace csi_proxy::$group$\n");
}

}  // namespace csi_proxy::codegen
