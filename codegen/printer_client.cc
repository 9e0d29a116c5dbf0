#include "codegen/printers.h"

namespace csi_proxy::codegen {

void PrintClientHeader(const Group& group, const Version& version, pb::io::Printer& printer) {
  const Vars vars = FileVars(group, version);
  PrintBanner(vars, true, printer);
  printer.Print(vars,
                "#include <memory>\n#include <utility>\n\n"
                "#include \"absl/status/statusor.h\"\n"
                "#include \"csi_proxy/call_options.h\"\n#include \"csi_proxy/connection.h\"\n"
                "#include \"csi_proxy/$group$/$version$/api.h\"\n\n");
  OpenNamespace(vars, printer);
  PrintComment(CommentOf(*version.service), printer);
  printer.Print(
      vars,
      "// Calls the $group$ group at version $version$. Thread-safe; movable, not copyable.\n"
      "class Client {\n public:\n"
      "  // Calls the node of `connection`. Options that a call leaves unset come from "
      "`defaults`.\n"
      "  explicit Client(std::shared_ptr<Connection> connection, CallOptions defaults = {});\n"
      "  // Calls `api`, for example a test's double.\n"
      "  explicit Client(std::shared_ptr<Api> api, CallOptions defaults = {})\n"
      "      : api_(std::move(api)), defaults_(defaults) {}\n"
      "  Client(Client&&) = default;\n  Client& operator=(Client&&) = default;\n");
  printer.Indent();
  for (const MethodPair& pair : version.methods) {
    printer.Print("\n");
    PrintComment(CommentOf(*pair.version), printer);
    printer.Print(
        "absl::StatusOr<$response$> $method$(\n"
        "    const $request$& request, const CallOptions& options = {}) const;\n",
        "method", pair.version->name(), "request", pair.version->input_type()->name(), "response",
        pair.version->output_type()->name());
  }
  printer.Outdent();
  printer.Print("\n private:\n  std::shared_ptr<Api> api_;\n  CallOptions defaults_;\n};\n");
  CloseNamespace(vars, printer);
}

void PrintClientSource(const Group& group, const Version& version, pb::io::Printer& printer) {
  const Vars vars = FileVars(group, version);
  PrintBanner(vars, false, printer);
  printer.Print(vars,
                "#include \"csi_proxy/$group$/$version$/client.h\"\n\n"
                "#include \"client/cpp/backends.h\"\n"
                "#include \"csi_proxy/$group$/$version$/remote.h\"\n\n");
  OpenNamespace(vars, printer);
  printer.Print(vars,
                "Client::Client(std::shared_ptr<Connection> connection, CallOptions defaults)\n"
                "    : Client(client::ApiOf<Api>(std::move(connection), \"$group$\", "
                "\"$version$\", &NewRemote),\n"
                "             defaults) {}\n\n");
  ForEachMethod(version, vars,
                "absl::StatusOr<$response$> Client::$method$(\n"
                "    const $request$& request, const CallOptions& options) const {\n"
                "  $response$ response;\n"
                "  const absl::Status status = api_->$method$(\n"
                "      client::MakeCallContext(defaults_, options), request, &response);\n"
                "  if (!status.ok()) return status;\n  return response;\n}\n\n",
                printer);
  CloseNamespace(vars, printer);
}

void PrintRemoteHeader(const Group& group, const Version& version, pb::io::Printer& printer) {
  const Vars vars = FileVars(group, version);
  PrintBanner(vars, true, printer);
  printer.Print(vars,
                "#include <memory>\n\n#include \"client/cpp/backends.h\"\n"
                "#include \"csi_proxy/$group$/$version$/api.h\"\n\n");
  OpenNamespace(vars, printer);
  printer.Print(vars,
                "// Returns an Api that sends its calls over `channel`.\n"
                "std::unique_ptr<Api> NewRemote(std::shared_ptr<client::Channel> channel);\n");
  CloseNamespace(vars, printer);
}

void PrintRemoteSource(const Group& group, const Version& version, pb::io::Printer& printer) {
  const Vars vars = FileVars(group, version);
  PrintBanner(vars, false, printer);
  printer.Print(vars,
                "#include \"csi_proxy/$group$/$version$/remote.h\"\n\n#include <utility>\n\n"
                "#include \"csi_proxy/$group$/$version$/methods.h\"\n\n");
  OpenNamespace(vars, printer);
  printer.Print(
      "namespace {\n\nclass Remote final : public Api {\n public:\n"
      "  explicit Remote(std::shared_ptr<client::Channel> channel)\n"
      "      : channel_(std::move(channel)) {}\n");
  ForEachMethod(
      version, vars,
      "\n  absl::Status $method$(const CallContext& context, const $request$& request,\n"
      "      $response$* response) override {\n"
      "    return channel_->Call(methods::k$method$.path, context, request, response);\n  }\n",
      printer);
  printer.Print(vars,
                "\n private:\n  const std::shared_ptr<client::Channel> channel_;\n};\n\n"
                "}  // namespace\n\n"
                "std::unique_ptr<Api> NewRemote(std::shared_ptr<client::Channel> channel) {\n"
                "  return std::make_unique<Remote>(std::move(channel));\n}\n");
  CloseNamespace(vars, printer);
}

}  // namespace csi_proxy::codegen
