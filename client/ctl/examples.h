// Command lines that show how to call a method.
#pragma once

#include <string>

#include "client/ctl/catalog.h"

namespace csi_proxy::ctl {

// A command line, quoted for a shell, that would run: on the simulated node as it is, elsewhere
// with the node's own disks, volumes and paths.
std::string ExampleOf(const Catalog& catalog, const Method& method);

}  // namespace csi_proxy::ctl
