#include <utility>

#include "absl/strings/str_cat.h"
#include "client/host/node_host.h"
#include "server/windows_node.h"

namespace csi_proxy {

absl::StatusOr<std::shared_ptr<Node>> Node::Windows(NodeOptions options) {
  return client::NewNodeHost(
      std::move(options), [](const LogFunction& log) -> absl::StatusOr<client::NodeParts> {
        client::NodeParts parts;
        absl::StatusOr<std::unique_ptr<host::Host>> node =
            OpenWindowsNode([&log](absl::string_view line) { log(Severity::kWarning, line); });
        if (!node.ok()) return node.status();
        parts.node = *std::move(node);
        // The service may act on the node as well, and other drivers.
        absl::StatusOr<std::unique_ptr<ProcessLocks>> locks = NewProcessLocks("");
        if (!locks.ok()) return locks.status();
        parts.processes = *std::move(locks);
        return parts;
      });
}

}  // namespace csi_proxy
