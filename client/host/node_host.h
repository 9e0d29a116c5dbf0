// A Host over whatever node: handlers, locks, limits, audit and metrics, as the service has them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/node.h"
#include "server/base/process_locks.h"
#include "server/host/host.h"

namespace csi_proxy::client {

// What Host::Administer() does.
using AdministerFunction = std::function<absl::StatusOr<std::string>(absl::string_view method,
                                                                     const std::string& request)>;

struct NodeParts {
  std::unique_ptr<host::Host> node;
  // Null: this process is alone on the node.
  std::unique_ptr<ProcessLocks> processes;
  // Null on a real node.
  AdministerFunction administer;
};

// `open(log)` opens the node; what it has to say goes to the log of `options`. INVALID_ARGUMENT
// naming the option; else what `open` fails with.
absl::StatusOr<std::shared_ptr<Node>> NewNodeHost(
    NodeOptions options, const std::function<absl::StatusOr<NodeParts>(const LogFunction&)>& open);

}  // namespace csi_proxy::client
