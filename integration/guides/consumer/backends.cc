// Exits with 0 if the program has exactly the backends that its arguments name. It is linked with
// several sets of libraries.
#include <iostream>
#include <set>
#include <string>

#include "csi_proxy/volume/v1/client.h"

int main(int argc, char** argv) {
  const std::set<std::string> expected(argv + 1, argv + argc);
  std::set<std::string> found;
  for (const auto& [name, mode] : {std::pair("remote", csi_proxy::Mode::kRemote),
                                   std::pair("embedded", csi_proxy::Mode::kEmbedded)}) {
    const absl::Status status = csi_proxy::Connect({.mode = mode}).status();
    std::cerr << name << ": " << status << "\n";
    if (!absl::IsUnimplemented(status)) found.insert(name);
  }
  return found == expected ? 0 : 1;
}
