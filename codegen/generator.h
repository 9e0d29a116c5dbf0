// protoc-gen-csi-proxy: generates all code between the hub and the released versions of an API
// group.
//
//   protoc -I api --csi-proxy_out=OUT --csi-proxy_opt=group=volume,conversions=FILE
//       volume/hub.proto volume/v1/api.proto volume/v1beta1/api.proto ...
//
// All files of the group must be given at once. Parameters, both required: `group`, the group's
// name and folder, and `conversions`, its table in textproto. Equal input gives equal bytes.
#pragma once

#include <google/protobuf/compiler/code_generator.h>

#include <string>
#include <vector>

namespace csi_proxy::codegen {

class Generator final : public google::protobuf::compiler::CodeGenerator {
 public:
  bool GenerateAll(const std::vector<const google::protobuf::FileDescriptor*>& files,
                   const std::string& parameter,
                   google::protobuf::compiler::GeneratorContext* context,
                   std::string* error) const override;

  bool Generate(const google::protobuf::FileDescriptor* file, const std::string& parameter,
                google::protobuf::compiler::GeneratorContext* context,
                std::string* error) const override;
};

}  // namespace csi_proxy::codegen
