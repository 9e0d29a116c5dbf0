// protoc-gen-csi-proxy: generates all code between an API group's hub and its released versions.
//
//   protoc -I api --csi-proxy_out=OUT --csi-proxy_opt=group=volume,conversions=FILE
//       volume/hub.proto volume/v1/api.proto volume/v1beta1/api.proto ...
//
// One run must get all files of the group. Parameters, both required: `group`, the group's name and
// folder, and `conversions`, its table in textproto. Equal input gives equal bytes.
#include <google/protobuf/compiler/code_generator.h>
#include <google/protobuf/compiler/plugin.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/text_format.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/model.h"
#include "codegen/printers.h"
#include "server/base/status_macros.h"

namespace csi_proxy::codegen {
namespace {

struct Parameters {
  std::string group;
  std::string conversions;
};

absl::StatusOr<Parameters> ParseParameters(const std::string& text) {
  Parameters parameters;
  std::vector<std::pair<std::string, std::string>> pairs;
  pb::compiler::ParseGeneratorParameter(text, &pairs);
  for (const auto& [key, value] : pairs) {
    if (key == "group") {
      parameters.group = value;
    } else if (key == "conversions") {
      parameters.conversions = value;
    } else {
      return absl::InvalidArgumentError(absl::StrCat("unknown parameter: ", key));
    }
  }
  if (parameters.group.empty()) return absl::InvalidArgumentError("the parameter group is missing");
  if (parameters.conversions.empty()) {
    return absl::InvalidArgumentError("the parameter conversions is missing");
  }
  return parameters;
}

// Collects the text parser's errors with their positions.
class Errors final : public pb::io::ErrorCollector {
 public:
  explicit Errors(std::string file) : file_(std::move(file)) {}
  void AddError(int line, int column, const std::string& message) override {
    absl::StrAppend(&text_, file_, ":", line + 1, ":", column + 1, ": ", message, "\n");
  }
  const std::string& text() const { return text_; }

 private:
  const std::string file_;
  std::string text_;
};

absl::StatusOr<Conversions> ReadTable(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  std::ostringstream text;
  text << file.rdbuf();
  Conversions table;
  Errors errors(path);
  pb::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  if (!parser.ParseFromString(text.str(), &table)) {
    return absl::InvalidArgumentError(errors.text());
  }
  return table;
}

// Writes output files below csi_proxy/<group>/.
class Writer {
 public:
  Writer(pb::compiler::GeneratorContext* context, const Group& group)
      : context_(context), directory_(absl::StrCat("csi_proxy/", group.name, "/")) {}

  template <typename Print, typename... Arguments>
  void Write(const std::string& name, Print print, const Arguments&... arguments) {
    std::unique_ptr<pb::io::ZeroCopyOutputStream> output(
        context_->Open(absl::StrCat(directory_, name)));
    pb::io::Printer printer(output.get(), '$');
    print(arguments..., printer);
  }

 private:
  pb::compiler::GeneratorContext* const context_;
  const std::string directory_;
};

void WriteAll(const Group& group, pb::compiler::GeneratorContext* context) {
  Writer writer(context, group);
  writer.Write("hub.h", PrintHubHeader, group);
  writer.Write("hub.cc", PrintHubSource, group);
  writer.Write("audited.h", PrintAuditedHeader, group);
  writer.Write("faulty.h", PrintFaultyHeader, group);
  writer.Write("served_versions.h", PrintServedVersionsHeader, group);
  writer.Write("served_versions.cc", PrintServedVersionsSource, group);
  using PrintVersion = void (*)(const Group&, const Version&, pb::io::Printer&);
  static constexpr std::pair<const char*, PrintVersion> kPerVersion[] = {
      {"api.h", PrintApiHeader},
      {"convert.h", PrintConvertHeader},
      {"convert.cc", PrintConvertSource},
      {"shim.h", PrintShimHeader},
      {"shim.cc", PrintShimSource},
      {"methods.h", PrintMethodsHeader},
      {"client.h", PrintClientHeader},
      {"client.cc", PrintClientSource},
      {"remote.h", PrintRemoteHeader},
      {"remote.cc", PrintRemoteSource},
      {"by_name.h", PrintByNameHeader},
      {"by_name.cc", PrintByNameSource},
      {"round_trip.h", PrintRoundTripHeader},
      {"round_trip.cc", PrintRoundTripSource},
  };
  for (const Version& version : group.versions) {
    for (const auto& [name, print] : kPerVersion) {
      writer.Write(absl::StrCat(version.name, "/", name), print, group, version);
    }
  }
}

absl::Status Run(const std::vector<const pb::FileDescriptor*>& files, const std::string& parameter,
                 pb::compiler::GeneratorContext* context) {
  ABSL_ASSIGN_OR_RETURN(const Parameters parameters, ParseParameters(parameter));
  ABSL_ASSIGN_OR_RETURN(const Conversions table, ReadTable(parameters.conversions));
  ABSL_ASSIGN_OR_RETURN(const Group group, BuildGroup(parameters.group, files, table));
  WriteAll(group, context);
  return absl::OkStatus();
}

class Generator final : public pb::compiler::CodeGenerator {
 public:
  bool GenerateAll(const std::vector<const pb::FileDescriptor*>& files,
                   const std::string& parameter, pb::compiler::GeneratorContext* context,
                   std::string* error) const override {
    const absl::Status status = Run(files, parameter, context);
    *error = std::string(status.message());
    return status.ok();
  }
  bool Generate(const pb::FileDescriptor* file, const std::string& parameter,
                pb::compiler::GeneratorContext* context, std::string* error) const override {
    return GenerateAll({file}, parameter, context, error);
  }
};

}  // namespace
}  // namespace csi_proxy::codegen

int main(int argc, char** argv) {
  const csi_proxy::codegen::Generator generator;
  return google::protobuf::compiler::PluginMain(argc, argv, &generator);
}
