// Fails unless a program with both backends chooses the mode that its argument names. Also links
// the C interface, which must tolerate that its messages are registered already.
#include <iostream>
#include <string>

#include "csi_proxy/csi_proxy.h"
#include "csi_proxy/filesystem/v1/client.h"
#include "csi_proxy/node.h"

namespace filesystem = csi_proxy::filesystem::v1;

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  std::string choice;
  const auto connection = csi_proxy::Connect(
      {.node = csi_proxy::Node::Simulated().value(),
       .log = [&](csi_proxy::Severity, absl::string_view line) { choice = std::string(line); }});
  std::cerr << choice << "\n" << connection.status() << "\n";
  if (!connection.ok()) return 1;
  if (choice.find(" is " + mode + ":") == std::string::npos) return 1;
  filesystem::PathExistsRequest request;
  request.set_path(R"(C:\var\lib\kubelet\plugins)");
  const auto exists = filesystem::Client(*connection).PathExists(request);
  std::cerr << exists.status() << "\n";

  csi_proxy_node node = 0;
  const int32_t opened =
      csi_proxy_open(CSI_PROXY_ABI_VERSION, nullptr, 0, nullptr, nullptr, &node, nullptr);
  return exists.ok() && exists->exists() && opened == 0 && csi_proxy_close(node) == 0 ? 0 : 1;
}
