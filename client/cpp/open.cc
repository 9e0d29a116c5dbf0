#include <utility>

#include "client/cpp/own_node.h"
#include "server/node/opened_machine.h"

namespace csi_proxy {

absl::StatusOr<std::shared_ptr<Node>> Node::Windows(NodeOptions options) {
  return client::OwnNode::Create(std::move(options), [](const LogFunction& log) {
    return OpenThisMachine([log](absl::string_view line) { log(Severity::kWarning, line); });
  });
}

}  // namespace csi_proxy
