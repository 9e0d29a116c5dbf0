#include <google/protobuf/compiler/plugin.h>

#include "codegen/generator.h"

int main(int argc, char** argv) {
  const csi_proxy::codegen::Generator generator;
  return google::protobuf::compiler::PluginMain(argc, argv, &generator);
}
