// Opens the node that the command line selects.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "csi_proxy/log_function.h"
#include "server/node/managed_node.h"
#include "server/node/opened_machine.h"
#include "server/options/options.h"
#include "server/rpc/grpc_service.h"

namespace csi_proxy {

// A service on a pipe of its own.
struct ExtraService {
  std::string pipe_name;
  // The service's name in the paths of its rpcs.
  std::string full_name;
  std::unique_ptr<rpc::RemoteService> service;
};

struct OpenedNode {
  std::unique_ptr<ManagedNode> node;
  // Services to serve in addition to the released ones.
  std::vector<ExtraService> services;
};

// Opens the machine and makes the node. Fails as OpenSimulation() does for a simulated node, else
// as OpenThisMachine() does.
absl::StatusOr<OpenedNode> OpenNode(const Options& options);

// A program links csi_proxy_simulation or csi_proxy_no_simulation for the functions below. The
// functions of csi_proxy_no_simulation, which the service for Windows nodes links, return
// INVALID_ARGUMENT.
//
// Opens the machine of --host=simulated for the value of --scenario, a name or a file; "" for the
// default. Appends the administrator's service to `*services`. `warn` receives the host's warnings.
// Returns NOT_FOUND, naming the flag, if the file cannot be read; else LoadScenario()'s error.
absl::StatusOr<OpenedMachine> OpenSimulation(const std::string& scenario, LineFunction warn,
                                             std::vector<ExtraService>* services);

// Returns the text of --list-scenarios, or INVALID_ARGUMENT, naming the flag.
absl::StatusOr<std::string> ListScenarios();

}  // namespace csi_proxy
