// Prints the table of cases as JSON, for test programs in other languages.
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <iostream>

#include "integration/service/cases.h"
#include "integration/support/node_admin.h"

int main() {
  using google::protobuf::Struct;
  google::protobuf::ListValue scripts;
  for (const auto& script : csi_proxy::integration::AllScripts()) {
    Struct& one = *scripts.add_values()->mutable_struct_value();
    (*one.mutable_fields())["group"].set_string_value(script.group);
    auto& versions = *(*one.mutable_fields())["versions"].mutable_list_value();
    for (const char* version : script.versions) versions.add_values()->set_string_value(version);
    auto& cases = *(*one.mutable_fields())["cases"].mutable_list_value();
    for (const auto& c : script.cases) {
      auto& fields = *cases.add_values()->mutable_struct_value()->mutable_fields();
      fields["method"].set_string_value(c.method);
      fields["request"].set_string_value(c.request);
      fields["code"].set_number_value(static_cast<int>(c.code));
      fields["expected"].set_string_value(c.expected);
      fields["fault"].set_string_value(c.fault);
      fields["faultError"].set_number_value(csi_proxy::integration::FailureOf(c.fault));
    }
  }
  std::string text;
  if (!google::protobuf::util::MessageToJsonString(scripts, &text).ok()) return 1;
  std::cout << text << "\n";
  return 0;
}
