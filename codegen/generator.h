// protoc-gen-csi-proxy: from the hub and the released versions of one API group, all the code that
// stands between them.
//
//   protoc -I api --csi-proxy_out=OUT --csi-proxy_opt=group=volume,conversions=FILE
//       volume/hub.proto volume/v1/api.proto volume/v1beta1/api.proto ...
//
// All files of the group are given at once. Parameters: `group`, the group's name and folder;
// `conversions`, its table in textproto. Both are needed and others are refused. Output is stable:
// the same input gives the same bytes.
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
